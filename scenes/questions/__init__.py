"""CLEVR's questions: functions, programs, the 90 families, and the true answer. English is in `english`.

Models' answers, and their accuracy, belong to `trex.clevr_models`.
"""
