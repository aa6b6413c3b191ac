"""The queue of queries on disk: entries, their states, adding, sweeps, cleaning, rebuilding.

Who carries them out is in `trex.workers` and `trex.farm`.
"""
