"""The networks: classifiers, VAE, GAN, and the Inception network of published FIDs."""
