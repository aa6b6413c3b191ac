"""Families of failures: what failures share, as a small pattern over the scene graph.

Hits of a search are grouped by the objects responsible (`relatives`), the mistakes of an audit by rules (`discover`,
`rules`); both give a `Family` with its pattern, sentence and rate, and fresh members from scenes of the prior.
`enrichment` says which descriptions fit hits more often than prior scenes. `trace` asks a model what it misreads in a
picture.
"""
