"""A model by its spec, the text after `--model`: one file for each form that a spec may have.

A file declares which specs are its own, how to load them, and what that runs or sends. Nothing heavy is imported here
before a model is loaded: `trex.runs.trust` asks what a spec would run of every run folder.
"""
