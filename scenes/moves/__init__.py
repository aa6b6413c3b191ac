"""Proposals of a chain's next scene, with their densities.

Every proposal returns the log densities that Metropolis-Hastings needs. Accepting and rejecting is in
`trex.inference`.
"""
