"""Domain adaptation by adversaries (ADDA): domains, networks, training, and whether it makes overconfident."""
