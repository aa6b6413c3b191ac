"""python -m benchmarks.planted --out FOLDER --entrant audit --budget 500 --seed 0; see README.md beside this file."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.planted.run import ENTRANTS, Bench, carry_out, cpu_hours, keep, table
from benchmarks.planted.score import nameable
from benchmarks.planted.world import CHUNK

POOL = 100_000


def main(arguments: list[str] | None = None) -> None:
    """Do the runs that are not there yet, or print their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs, or for --table a record")
    parser.add_argument("--entrant", action="append", choices=list(ENTRANTS))
    parser.add_argument("--budget", action="append", type=int, help="renders; repeatable")
    parser.add_argument("--seed", action="append", type=int)
    parser.add_argument("--targets", choices=("public", "hidden"), default="public")
    parser.add_argument("--secret", type=int, default=1, help="the seed of the hidden targets")
    parser.add_argument("--target", action="append", help="only the targets of this name")
    parser.add_argument("--pool", type=int, default=POOL, help="scenes that faults are measured on")
    parser.add_argument(
        "--cache", type=Path, help="folder of drawn scenes and networks; OUT/cache if not given"
    )
    parser.add_argument(
        "--table", action="store_true", help="print the table of all runs in OUT, and do none"
    )
    parser.add_argument(
        "--nameable", action="store_true", help="say which faults their own conditions find, and do no run"
    )
    parser.add_argument(
        "--record",
        type=Path,
        help="a file of earlier runs, which are not done again; adds those in OUT to it",
    )
    chosen = parser.parse_args(arguments)
    if chosen.pool < CHUNK or chosen.pool % CHUNK:
        parser.error(f"--pool {chosen.pool} is no multiple of {CHUNK}; give one")
    if chosen.table:
        print(table(chosen.out))
        print(f"\n{cpu_hours(chosen.out):.2f} CPU hours")
        return
    bench = Bench(chosen.out, chosen.cache or chosen.out / "cache", chosen.pool, chosen.record)
    print(f"writes to {bench.out}; safe to stop at any time: the same command resumes", flush=True)
    known = bench.targets(chosen.targets, chosen.secret)
    wanted = [target for target in known if not chosen.target or target.name in chosen.target]
    if chosen.nameable:
        found = [each for target in wanted for each in nameable(bench.truth(bench.answerer(target)))]
        print(f"{sum(found)} of {len(found)} faults are found by their own conditions")
        return
    for line in carry_out(
        bench,
        wanted,
        chosen.entrant or list(ENTRANTS),
        chosen.budget or [500, 2000, 10_000],
        chosen.seed or [0],
    ):
        print(line, flush=True)
        if chosen.record:
            keep(chosen.out, chosen.record)


if __name__ == "__main__":
    main()
