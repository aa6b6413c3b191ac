"""Runs of entrants against targets, one JSON each, and the table of all."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.planted.answerer import Answerer
from benchmarks.planted.entrants.audit import audit
from benchmarks.planted.entrants.bandit import bandit
from benchmarks.planted.entrants.beam import beam
from benchmarks.planted.entrants.cross_entropy import cross_entropy
from benchmarks.planted.entrants.entry import Entrant, Hint
from benchmarks.planted.entrants.find import find
from benchmarks.planted.entrants.grid import grid
from benchmarks.planted.entrants.halton import halton
from benchmarks.planted.entrants.slices import slices
from benchmarks.planted.entrants.testing import random_testing
from benchmarks.planted.entrants.tree import random_tree
from benchmarks.planted.entrants.walk import walk
from benchmarks.planted.faults import Target
from benchmarks.planted.referee import Referee
from benchmarks.planted.score import Truth, score, truth_of
from benchmarks.planted.targets import HIDDEN, PUBLIC, PUBLIC_SEED, targets
from benchmarks.planted.trained import network
from benchmarks.planted.world import Pool, Stream
from trex.foundation.files import make_folder, write_atomic
from trex.inference.statistics.proportion import clopper_pearson

ENTRANTS: Mapping[str, Entrant] = {
    "random": random_testing,
    "tree": random_tree,
    "grid": grid,
    "halton": halton,
    "cross-entropy": cross_entropy,
    "bandit": bandit,
    "walk": walk,
    "beam": beam,
    "slices": slices,
    "audit": audit,
    "find": find,
}
RESAMPLES = 2000
HEAD = (
    "entrant", "renders", "runs", "faults found (95% CI)", "false families a faultless target", "stated rates right",
    "sentences", "area",
)  # fmt: skip
Row = dict[str, object]


@dataclass(frozen=True)
class Bench:
    """Where runs and caches are, and how many scenes faults are made, taught and measured on.

    Runs that `record` has are not done again.
    """

    out: Path
    cache: Path
    pool: int
    record: Path | None = None

    def targets(self, which: str, secret: int) -> list[Target]:
        """The public targets, or those that follow from a secret seed."""
        pool = Pool(Stream(self.cache, "measure", 0), self.pool)
        return targets(PUBLIC_SEED, PUBLIC, pool) if which == "public" else targets(secret, HIDDEN, pool)

    def answerer(self, target: Target) -> Answerer:
        """What answers as the target; its network is trained if it is not there."""
        pool = Pool(Stream(self.cache, "train", 0), self.pool)
        return Answerer(target, network(target, pool, self.cache / "networks") if target.trained else None)

    def truth(self, answerer: Answerer) -> Truth:
        """Where its faults are."""
        return truth_of(answerer, Pool(Stream(self.cache, "measure", 0), self.pool))

    def path(self, target: Target, entrant: str, budget: int, seed: int) -> Path:
        """The file of a run."""
        return self.out / "runs" / f"{target.name}-{entrant}-{budget}-{seed}.json"


def carry_out(
    bench: Bench,
    known: Sequence[Target],
    entrants: Sequence[str],
    budgets: Sequence[int],
    seeds: Sequence[int],
) -> Iterator[str]:
    """Do the runs that are not there yet, and say what each gave."""
    make_folder(bench.out / "runs")
    recorded = set(map(_name, rows(bench.record))) if bench.record and bench.record.is_file() else set()
    for target in known:
        todo = [
            (entrant, budget, seed)
            for budget in budgets
            for entrant in entrants
            for seed in seeds
            if not (path := bench.path(target, entrant, budget, seed)).is_file() and path.stem not in recorded
        ]
        if todo:
            answerer = bench.answerer(target)
            truth = bench.truth(answerer)
            for entrant, budget, seed in todo:
                yield _run(bench, truth, entrant, budget, seed)


def _run(bench: Bench, truth: Truth, entrant: str, budget: int, seed: int) -> str:
    target, before = truth.answerer.target, sum(os.times()[:4])
    referee = Referee(truth.answerer, budget, Stream(bench.cache, "draws", seed))
    hints = tuple(Hint(fault.shows, fault.value) for fault in target.faults)
    result = ENTRANTS[entrant](referee, seed, hints)
    cpu_s = sum(os.times()[:4]) - before  # of this process and of those that it has started
    row: Row = {
        "target": target.name,
        "entrant": entrant,
        "budget": budget,
        "seed": seed,
        "trained": target.trained,
        "renders": referee.renders,
        "answers": referee.answers,
        "failing": result.failing,
        "note": result.note,
        **score(result.claims, truth),
    }
    path = bench.path(target, entrant, budget, seed)
    write_atomic(path, (json.dumps(row, indent=1) + "\n").encode())
    with (bench.out / "times.jsonl").open("a") as log:
        log.write(json.dumps({"run": path.stem, "cpu_s": round(cpu_s, 1)}) + "\n")
    return (
        f"{path.stem}: {row['found']} of {row['of']} found, {row['sentences']} sentences, {cpu_s:.0f} CPU s"
    )


def rows(out: Path) -> list[Row]:
    """All runs of a folder, or of a record that `keep` wrote."""
    if out.is_file():
        return [json.loads(line) for line in out.read_text().splitlines()]
    return [json.loads(path.read_text()) for path in sorted((out / "runs").glob("*.json"))]


def keep(out: Path, record: Path) -> None:
    """Put the runs of a folder into a record, a line each: what the table needs of them, and their processor time.

    Runs of the same name are replaced, so that a table can grow over many days and machines.
    """
    seconds = _seconds(out)
    known = {_name(row): row for row in (rows(record) if record.is_file() else [])}
    for row in rows(out):
        stated = [
            {key: each[key] for key in ("rate", "true_rate", "covers")}
            for each in _claims(row)
            if "covers" in each
        ]
        kept = {key: value for key, value in row.items() if key not in ("faults", "note")}
        known[_name(row)] = {**kept, "claims": stated, "cpu_s": seconds.get(_name(row))}
    lines = (json.dumps(known[name], separators=(",", ":")) + "\n" for name in sorted(known))
    write_atomic(record, "".join(lines).encode())


def _name(row: Row) -> str:
    return "-".join(str(row[key]) for key in ("target", "entrant", "budget", "seed"))


def _seconds(out: Path) -> dict[str, float]:
    path = out / "times.jsonl"
    known = map(json.loads, path.read_text().splitlines() if path.is_file() else [])
    return {each["run"]: float(each["cpu_s"]) for each in known}


@dataclass(frozen=True)
class Cell:
    """An entrant at a budget over targets and seeds: the share of faults found, with a bootstrap over targets."""

    entrant: str
    budget: int
    found: int
    of: int
    low: float
    high: float
    sentences: float
    false_families: float | None
    coverage: float | None
    width: float | None
    runs: int


def cells(known: Sequence[Row]) -> list[Cell]:
    """One cell for each entrant and budget, of the seeds that were run on all targets.

    An entrant that was stopped after the easy ones would stand above one that did all.
    """
    targets, of = {row["target"] for row in known}, ("entrant", "budget", "seed")
    n = Counter(tuple(row[key] for key in of) for row in known)
    whole = [row for row in known if n[tuple(row[key] for key in of)] == len(targets)]
    keys = sorted({(str(row["entrant"]), int(str(row["budget"]))) for row in whole})
    return [_cell(*key, [row for row in whole if (row["entrant"], row["budget"]) == key]) for key in keys]


def _cell(entrant: str, budget: int, mine: Sequence[Row]) -> Cell:
    names = sorted({str(row["target"]) for row in mine})
    found = np.array([sum(_int(row, "found") for row in mine if row["target"] == name) for name in names])
    of = np.array([sum(_int(row, "of") for row in mine if row["target"] == name) for name in names])
    at = np.random.default_rng(0).integers(len(names), size=(RESAMPLES, len(names)))
    shares = found[at].sum(axis=1) / np.maximum(1, of[at].sum(axis=1))
    low, high = (float(value) for value in np.quantile(shares, (0.025, 0.975)))
    if not found.any():  # no resample finds anything either: each target with a fault counts as one trial
        high = clopper_pearson(0, max(1, int((of > 0).sum())), 0.95).high
    stable = [row for row in mine if not row["of"]]
    stated = [each for row in mine for each in _claims(row) if "covers" in each]
    widths = [
        math.log10(max(top, 1e-9) / max(bottom, 1e-9)) for bottom, top in (each["rate"] for each in stated)
    ]
    return Cell(
        entrant,
        budget,
        int(found.sum()),
        int(of.sum()),
        low,
        high,
        float(np.mean([_int(row, "sentences") for row in mine])),
        float(np.mean([_int(row, "false_families") for row in stable])) if stable else None,
        float(np.mean([bool(each["covers"]) for each in stated])) if stated else None,
        float(np.median(widths)) if widths else None,
        len(mine),
    )


def area(known: Sequence[Cell], entrant: str) -> float | None:
    """The area under found-versus-budget (share, log scale), over its width; None with fewer than two budgets."""
    mine = sorted((cell.budget, cell.found / max(1, cell.of)) for cell in known if cell.entrant == entrant)
    if len(mine) < 2:
        return None
    x = [math.log(budget) for budget, _ in mine]
    parts = ((x[k + 1] - x[k]) * (mine[k][1] + mine[k + 1][1]) / 2 for k in range(len(mine) - 1))
    return sum(parts) / (x[-1] - x[0])


def table(out: Path) -> str:
    """All budgets and entrants, those that find most first, as a table in Markdown."""
    known = cells(rows(out))
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    for cell in sorted(known, key=lambda cell: (cell.budget, -cell.found / max(1, cell.of), cell.entrant)):
        under = area(known, cell.entrant)
        lines.append(
            f"| {cell.entrant} | {cell.budget:,} | {cell.runs} | {cell.found} of {cell.of} "
            f"({cell.low:.0%} to {cell.high:.0%}) | {_shown(cell.false_families)} | {_shown(cell.coverage)} | "
            f"{cell.sentences:.1f} | {_shown(under)} |"
        )
    return "\n".join(lines)


def cpu_hours(out: Path) -> float:
    """CPU hours of all runs of a folder or a record."""
    if out.is_file():
        return sum(float(str(row["cpu_s"] or 0.0)) for row in rows(out)) / 3600
    return sum(_seconds(out).values()) / 3600


def _shown(value: float | None) -> str:
    return "—" if value is None else f"{value:.2f}"


def _int(row: Row, name: str) -> int:
    return int(str(row[name]))


def _claims(row: Row) -> list[dict[str, list[float]]]:
    found = row["claims"]
    return found if isinstance(found, list) else []
