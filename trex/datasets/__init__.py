"""Pictures with what is known of them, read from files or rendered from the prior; one reader for each layout.

Readers only: what is counted or said about the pictures belongs to `trex.baseline` and `trex.parity`.
"""
