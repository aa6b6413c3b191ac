"""CLEVR models by name, their published accuracy, saliency, and a fake that is simple to understand.

One subpackage for each family of models, `interface` for what they share, `adapters` for user-defined models. Nothing
here renders or samples.
"""
