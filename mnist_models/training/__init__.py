"""Trainings of the models of this world, resumable after a kill, and the figures on their cards."""
