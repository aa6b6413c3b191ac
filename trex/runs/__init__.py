"""A run folder: manifest, every draw as a checked line, pictures by content, sessions, and opening it again.

Nothing here searches or interprets; `trex.search` does.
"""
