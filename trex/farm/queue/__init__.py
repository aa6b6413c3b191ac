"""The queue of queries on disk: entries, their states, adding, sweeps, cleaning, rebuilding.

`trex.farm.workers` and `trex.farm` run the queries.
"""
