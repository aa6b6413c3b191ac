"""What may be said of draws: intervals, importance sampling, diagnostics, paired tests, and the verdict of a search."""
