"""Files of models: weights with cards, checkpoints, downloads checked by sha256, the cache."""
