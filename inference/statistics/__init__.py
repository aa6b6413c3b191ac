"""Conclusions from draws: intervals, importance sampling, diagnostics, paired tests, and the verdict of a search."""
