"""The shipped worlds, by the names that [generator] takes: CLEVR's scenes, digits and garments.

A module that declares `WORLDS` adds worlds; code that several worlds share is in `trex.worlds`.
"""
