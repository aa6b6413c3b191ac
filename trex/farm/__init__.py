"""`trex queue run`: claims queries from the queue and runs them on this machine or on Ray."""
