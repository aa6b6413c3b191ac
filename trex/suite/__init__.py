"""Adds failures of runs and audits to a suite, and the pytest plugin that asks it; the suite is `trex.trials.suite`."""
