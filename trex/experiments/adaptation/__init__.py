"""Whether adaptation to another domain makes a classifier overconfident: source and adapted networks compared.

Networks and their training are in `trex.mnist_models.adaptation`.
"""
