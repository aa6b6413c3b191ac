"""Families of failures: what a model misreads and when, as a small pattern over the scene graph.

`trace` asks a model what it misreads in one picture. The failures of a search (`cases`) and of an audit (`discover`)
are grouped by rules over conditions (`rules`); both give a `Family` with its pattern, sentence and rate, and fresh
members from scenes of the prior. In a world of named values the conditions are on these (`values`). `lineage` says
which hits are independent of each other.
"""
