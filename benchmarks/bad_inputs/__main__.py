"""Prints one JSON line: how many inputs there were, how many did not end in a clear line, and which.

`python -m benchmarks.bad_inputs [--every N] [WORD...]`: only every Nth, only those whose name holds each word.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.bad_inputs import models, options, queries, runs, scenes, shapes
from benchmarks.bad_inputs.cases import Case
from benchmarks.bad_inputs.runner import judge
from benchmarks.figure import note


def every_case() -> Iterator[Case]:
    """All of them."""
    for source in (queries, shapes, options, scenes, models, runs):
        yield from source.cases()


def _chosen(words: list[str]) -> list[Case]:
    step = 1
    if words[:1] == ["--every"]:
        step, words = int(words[1]), words[2:]
    return [case for case in every_case() if all(word in case.name for word in words)][::step]


def main(words: list[str]) -> None:
    """Carries them out and prints the count; what is unclear goes to standard error at once."""
    unclear = []
    with tempfile.TemporaryDirectory(prefix="trex-bad-inputs-") as place:
        os.environ["TREX_CACHE"] = str(Path(place) / "cache")
        chosen = _chosen(words)
        for case, why, ending in judge(chosen, Path(place)):
            if why:
                unclear.append({"input": case.name, "what": why})
                note(f"{case.name}: {why}: {' '.join(case.words)[:200]}\n{ending.err[-1500:]}")
    print(json.dumps({"inputs": len(chosen), "unclear": len(unclear), "which": unclear}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
