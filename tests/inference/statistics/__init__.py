"""Tests of the statistics: intervals, rates, paired and clustered data, two-phase samples, and the gate of looks."""
