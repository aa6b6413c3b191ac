"""The digit and fashion world: decoders that draw, classifiers that are questioned, their data and training."""
