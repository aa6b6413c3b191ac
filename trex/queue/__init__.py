"""The queue of queries on disk: entries, their states, adding, sweeps, cleaning, rebuilding.

`trex.workers` and `trex.farm` run the queries.
"""
