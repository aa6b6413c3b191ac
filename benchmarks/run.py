"""`make bench`: every figure, one JSON object a line; give names to measure some: python -m benchmarks.run costs."""

from __future__ import annotations

import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # scoring beside Blender; see docs/PERFORMANCE.md

from benchmarks.farm import farm, farm_simulation
from benchmarks.nuts import nuts
from benchmarks.overhead import overhead
from benchmarks.queue import queue
from benchmarks.released_models import released
from benchmarks.rendering import costs, memory, memory_long, quality, scoring, throughput

PARTS = {
    part.__name__: part
    for part in (
        overhead,
        queue,
        farm,
        farm_simulation,
        scoring,
        released,
        nuts,
        throughput,
        memory,
        memory_long,
        quality,
        costs,
    )
}


def main(names: list[str]) -> None:
    """Measure the named parts, or all."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    for name, part in PARTS.items():
        if not names or name in names:
            part()


if __name__ == "__main__":
    main(sys.argv[1:])
