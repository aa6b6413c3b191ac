"""Regression suites: scenes on which a model failed, kept with pictures and truth, and asked of other models.

A suite is a folder that can live in a repository; nothing in it is trusted. `trex.suite.add` adds to it.
"""
