"""Pyro's NUTS for latents that are float arrays: several chains, resumable after any round."""
