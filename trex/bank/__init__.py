"""Banks: scenes of a prior that are rendered once and shared by queries, models, baselines and experiments.

A bank belongs to a world (what scenes may hold), a seed and a look. Its scenes and pictures are on disk; scoring them
with another question or model renders nothing. Models and questions are not known here.
"""
