"""Worlds: each draws latents, renders them and says what is known of the true answers.

A world plans a query, opens it and describes what it draws. It receives resolved queries and draws, never a run
folder, a manifest or results. Code about a world that only one other subpackage needs lives there.
"""
