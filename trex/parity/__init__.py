"""Renderer parity with official pictures and assets, and the accuracy check of released models."""
