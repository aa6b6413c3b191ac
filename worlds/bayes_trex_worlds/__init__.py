"""Weights of the garments' decoders and classifier, and of the digits' GAN, for bayes-trex."""
