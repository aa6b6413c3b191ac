"""`trex queue watch` and `trex queue serve`: read-only views of a runs folder. Nothing here changes a run."""
