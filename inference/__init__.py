"""Sampling of a classifier's level sets: Metropolis-Hastings, surrogate transitions, chains, SMC, random streams.

Handles a latent only through its prior and proposal. Targets, NUTS, attribution and statistics have subpackages of
their own.
"""
