"""Renders hits again: at another preset, enlarged for the page, and the nearest misses."""
