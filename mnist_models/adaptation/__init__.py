"""Domain adaptation by adversaries (ADDA): source domains, networks, training and the figures of its cards.

What is sampled and compared with the results is in `trex.experiments`.
"""
