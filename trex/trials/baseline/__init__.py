"""`trex baseline`: a query counted on pictures that no search chose, beside the results of runs."""
