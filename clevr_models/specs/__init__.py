"""A model by its spec, the text after `--model`: the forms of spec, how each is loaded, and what that runs or sends.

Nothing slow is imported before a model is loaded: `trex.runs.trust` checks the spec of every run folder.
"""
