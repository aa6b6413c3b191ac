"""The networks themselves: classifiers, VAE, GAN, and the Inception network that published FIDs use."""
