"""The Frechet distance between pictures (FID): its formula, its features, and Inception's network."""
