"""How level sets of a classifier are sampled: Metropolis-Hastings, chains, SMC, a Pyro kernel, random streams.

Knows a latent only by its prior and proposal. Targets, NUTS, attribution and statistics have rooms of their own.
"""
