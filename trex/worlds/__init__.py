"""Worlds: what draws latents, renders them and knows the truth about them.

A world plans a query, opens it and describes what it draws. It receives resolved queries and draws, never a run folder,
a manifest or results. What one consumer alone needs of a world stands beside that consumer.
"""
