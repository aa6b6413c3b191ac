"""`make bench`: every figure, one JSON object a line; give names to measure some: python -m benchmarks.run costs.

`--seeds N` is for what depends on the luck of a seed (nuts, efficiency): medians over N, with the least and the most.
The last, efficiency, takes hours; it writes to runs/efficiency, and goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial

os.environ.setdefault("OMP_NUM_THREADS", "1")  # scoring beside Blender; see reproduce/LOG.md

from benchmarks import efficiency as searches
from benchmarks.efficiency import efficiency
from benchmarks.farm import farm, queue
from benchmarks.gpu import gpu
from benchmarks.nuts import SEEDS, nuts
from benchmarks.overhead import overhead
from benchmarks.rendering import costs, memory, memory_long, quality, released, scoring, throughput

PARTS = {
    part.__name__: part
    for part in (
        overhead,
        queue,
        farm,
        scoring,
        released,
        nuts,
        throughput,
        memory,
        memory_long,
        quality,
        costs,
        gpu,
        efficiency,
    )
}


def main(words: list[str]) -> None:
    """Measure the named parts, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PARTS))
    parser.add_argument(
        "--seeds", type=int, help=f"of nuts ({SEEDS} if not given) and efficiency ({searches.SEEDS})"
    )
    arguments = parser.parse_args(words)
    unknown = [name for name in arguments.names if name not in PARTS]
    if unknown:
        sys.exit(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(PARTS)}")
    if arguments.seeds is not None and arguments.seeds < 1:
        sys.exit(f"--seeds {arguments.seeds} is not possible; give 1 or more")
    of_seeds = {
        "nuts": partial(nuts, arguments.seeds or SEEDS),
        "efficiency": partial(efficiency, arguments.seeds or searches.SEEDS),
    }
    for name, part in (PARTS | of_seeds).items():
        if not arguments.names or name in arguments.names:
            part()


if __name__ == "__main__":
    main(sys.argv[1:])
