"""Proposals for Metropolis, by the names that [search] kernel takes; a module that declares `PROPOSAL` adds one.

The moves of scenes themselves are in `trex.scenes.moves`.
"""
