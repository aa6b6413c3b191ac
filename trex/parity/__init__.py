"""Renderer parity with official pictures and assets."""
