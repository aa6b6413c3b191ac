"""The whole: queries, wiring, run folders, reports, data sets, parity, the command line."""
