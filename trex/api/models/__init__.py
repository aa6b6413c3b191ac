"""Audits and repairs: what is done with a model as a whole, not with one query."""
