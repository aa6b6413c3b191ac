"""CLEVR's questions: functions, programs, the 90 families, English both ways, and the true answer.

Models' answers, and their accuracy, belong to `trex.clevr_models`.
"""
