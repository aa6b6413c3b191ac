"""CLEVR's questions: functions, programs, the 90 families, English both ways, and the true answer.

What a model answers, and how well, belongs to `trex.clevr_models`.
"""
