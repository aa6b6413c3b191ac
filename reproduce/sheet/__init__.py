"""The contact sheet of an experiment: its figures in one small picture, for pages that stay small (docs/PAPER.md).

Generated pictures only: nothing on a sheet comes from a data set.
"""
