"""The statistics of a repair (Defuse): perturbed codes, their mixture, votes on labels and how far voters agree.

Knows latent vectors and votes only; pictures, networks and folders are in `trex.repair`.
"""
