"""Repairs from Python."""
