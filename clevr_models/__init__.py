"""CLEVR models by name, their published accuracy, saliency, and a fake that can be understood at a glance.

One room for each family of models, `interface` for what they share, `adapters` for models of the user's own. Nothing
here renders or samples.
"""
