"""The pytest plugin of regression suites; what a suite is and how it runs is in `trex.trials.suite`."""
