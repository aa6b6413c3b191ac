"""A model by its spec, the text after `--model`: one file for each form of spec.

A file declares its specs, how to load them, and what that runs or sends. Nothing slow is imported before a model is
loaded: `trex.runs.trust` checks the spec of every run folder.
"""
