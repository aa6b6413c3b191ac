"""Repair of the shipped kind of CLEVR model on rendered scenes, whose truth is known."""
