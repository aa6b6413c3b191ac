"""Pictures and what is known about them, read from files or rendered from the prior; one reader for each layout.

Readers only: counting and conclusions belong to `trex.trials`.
"""
