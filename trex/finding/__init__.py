"""A query from its file to the report of its run: what Python, the command line, audits and the farm all call.

The search is in `trex.search`, the page in `trex.report`; here they are one walk, which opens the run folder once.
"""
