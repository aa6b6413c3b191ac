"""A run folder: its manifest, every draw as one checked line, pictures by content, sessions, and opening it again.

Nothing here searches or interprets; `trex.search` does.
"""
