"""Homes, locks, races, and what a run folder survives."""
