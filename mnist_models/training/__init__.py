"""Training of decoders and classifiers, resumable to the same bits, and how good the result is (accuracy, FID)."""
