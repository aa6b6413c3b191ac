"""Tests of NUTS: its moments and diagnostics, its exactness by rank tests, and the path of one trajectory."""
