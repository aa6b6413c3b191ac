"""Regression suites: scenes on which a model failed, kept with pictures and truth, and asked of other models.

A suite is a folder that can live in a repository; nothing in it is trusted. `add` fills it from runs and audits, `run`
asks a model about it, and `pytest_plugin` makes each of its scenes a test.
"""
