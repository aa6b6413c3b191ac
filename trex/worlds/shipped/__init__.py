"""The worlds that come with this program, by the names that [generator] takes: CLEVR's scenes, digits and garments.

A module that declares `WORLDS` adds worlds; what they share stands in `trex.worlds`.
"""
