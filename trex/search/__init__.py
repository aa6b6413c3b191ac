"""The search and its results: prior batch, chains, control, hits, families of hits, and the headline.

Writes through the journal of `trex.runs`; displays nothing but progress.
"""
