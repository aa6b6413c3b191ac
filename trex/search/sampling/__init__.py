"""How a search spends its first renders: the prior scenes that it samples, and the looks that it calibrates.

Nothing here renders or writes: these are decisions, computed from a run's records alone.
"""
