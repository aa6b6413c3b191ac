"""Tests of the kinds of targets, in NumPy and in torch."""
