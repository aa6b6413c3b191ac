"""Renders hits again: at another preset or noise seed, enlarged for the page, and the nearest misses."""
