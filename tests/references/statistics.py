"""How sure a test of random numbers is before it fails."""

from __future__ import annotations

# The chance that a test fails though the code is right, shared among the statistics that the test looks at. The same
# bound holds the other way round: a planted bug has to give a p-value below it.
ALPHA = 1e-5
