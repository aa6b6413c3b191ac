"""What a picture costs at each look, and how many cheap steps pay for a dear one."""

from __future__ import annotations

from trex.query.schema import Query

# CPU seconds of one core; docs/PERFORMANCE.md, render.cpu_s
CPU_S = {
    "draft": 0.063, "sketch": 0.134, "fast": 0.382, "coarse": 0.521, "sharp": 1.41, "reference": 4.59, "clevr": 118.0
}  # fmt: skip
MOST_INNER = 16
# Cheap steps for a dear one, from which ratio of their costs on (benchmarks/kernels/KERNELS.md).
INNER = ((20.0, MOST_INNER), (8.0, 8), (0.0, 4))


def inner_steps(query: Query, lead: str) -> int:
    """The cheap steps before each render at the deciding look, if this look leads the chains."""
    if query.search.inner is not None:
        return query.search.inner
    if lead not in CPU_S or query.render.preset not in CPU_S:
        return MOST_INNER
    ratio = query.render.noise * CPU_S[query.render.preset] / CPU_S[lead]
    return next(steps for least, steps in INNER if ratio >= least)
