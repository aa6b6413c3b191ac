"""Tests of IEP, "Inferring and Executing Programs": its files, networks, features, programs and training.

The networks are compared with `tests/references/iep_reference.py`, which is written from the published layer facts.
"""
