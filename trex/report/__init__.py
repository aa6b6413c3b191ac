"""A run's report and the comparison of two runs: first screen, gallery, patterns."""
