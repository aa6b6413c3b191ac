"""The search itself, and what was found: prior batch, chains, control, hits, families of hits, and the headline.

Writes through the journal of `trex.runs`; shows nothing but progress.
"""
