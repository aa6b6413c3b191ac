"""`trex top` and `trex serve`: read-only views of a runs folder. Nothing here changes a run."""
