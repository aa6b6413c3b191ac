"""Files that models come from and go to: weights with cards, checkpoints, downloads checked by sha256, the cache."""
