"""Experiments: sets of queries with published values, run, tabulated and drawn."""
