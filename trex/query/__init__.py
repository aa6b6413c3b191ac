"""A query as its user writes it: the schema, its TOML file, the question, the target, and shape cards.

Knows no world and opens no model. Worlds read queries; runs keep them.
"""
