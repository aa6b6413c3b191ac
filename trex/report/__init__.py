"""A run's report and the comparison of several runs: first screen, gallery, patterns."""
