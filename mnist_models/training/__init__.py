"""Training of decoders and classifiers, resumable bit for bit, and the quality of the result (accuracy, FID)."""
