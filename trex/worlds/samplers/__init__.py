"""Samplers other than Metropolis, by the names that [search] kernel takes.

A module that declares `SAMPLER` adds one.
"""
