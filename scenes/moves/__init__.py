"""How a chain proposes its next scene, and with what density.

Every proposal returns the log densities that Metropolis-Hastings needs. The parts of a chain that accept or reject are
in `trex.inference`.
"""
