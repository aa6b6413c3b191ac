"""Do the intervals of rates hold, whichever sample a search reports, and how wide are they?

    python -m benchmarks.rates cells --out runs/rates      # some 10 CPU minutes; goes on where it was stopped
    python -m benchmarks.rates table --out runs/rates      # a rate of 0.5% in a bank of 5,000
    python -m benchmarks.rates show --out runs/rates       # the least coverage of each design and level, and the table

Searches without pictures: a scene is a normal number, a hit one beyond the edge, and its cheap score correlates with it
(`tests.simulations.sampled_banks`). The decisions are those of a search: whether the target is common, whether the
first sample is enough, and whether another look chooses again; `tests/benchmarks/test_rates.py` compares them with
those of `trex.search.sampling`. A search ends at `stop` hits, or runs to its end (0). Each gives an interval without a
spread sample, and with two.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tests.simulations.sampled_banks import Bank
from trex.inference.rng import CALIBRATION_STREAM, stream
from trex.inference.statistics.budget import WANTED
from trex.inference.statistics.gate import LEAST, LEAST_IN_TOP, LEAST_SCENES, LEAST_TOP, MAX_TOP_SHARE
from trex.inference.statistics.proportion import LEAST_HITS, MAX_RELATIVE_ERROR
from trex.inference.statistics.two_phase import (
    Selection,
    estimate,
    inclusion_probabilities,
    spread_share,
    with_spread,
)
from trex.inference.statistics.weighted import may_be_most, weighted_bounds
from trex.inference.types import Floats
from trex.search.sampling.calibration import SCENES
from trex.search.sampling.prior_plan import GROWTH, RESCORED_LEVEL, SAMPLED_LEVEL
from trex.worlds.kernels import SURROGATE

RATES = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.3)
CORRELATIONS, STOPS = (0.9, 0.8, 0.5, 0.0), (0, 4, 8, 20)
BEST_LOOK = 0.9  # rank correlation of the look that scores the bank again
LEVELS = (0.9, 0.95, SAMPLED_LEVEL, RESCORED_LEVEL)
SPREADS = (500, 1000)
FIRST = 100  # prior scenes, as a query has them by default
REPEATS = 1000
FACTOR = 4.0  # both ends of an interval lie within this factor of the rate
SPREADING = 1 << 40  # added to a seed, for the numbers of a spread sample
SEED = 4_242
Flags = NDArray[np.bool_]


class Cell(NamedTuple):
    """One kind of search: its bank, kernel, true rate, rank correlation of the cheap score and number of hits wanted.

    `hidden` is the share of hits whose cheap score says nothing.
    """

    bank: int
    kernel: str
    rate: float
    correlation: float
    stop: int
    hidden: float = 0.0


@dataclass(frozen=True, eq=False)
class World:
    """The scenes of one bank: which hit, their log weights when it counts, and scores (2, n) at two cheaper looks."""

    hits: Flags
    log_weights: Floats
    scores: Floats


def world_of(cell: Cell, repeat: int) -> World:
    """A bank of this cell."""
    numbers = (
        cell.bank,
        1e6 * cell.rate,
        100 * cell.correlation,
        cell.stop,
        len(cell.kernel),
        100 * cell.hidden,
    )
    rng = np.random.default_rng([SEED, *map(round, numbers), repeat])
    bank, g = Bank(cell.rate), rng.standard_normal(cell.bank)
    hits = g > bank.edge
    pearson = 2.0 * np.sin(np.pi * np.array([[cell.correlation], [BEST_LOOK]]) / 6.0)
    scores = pearson * g + np.sqrt(1.0 - pearson**2) * rng.standard_normal((2, cell.bank))
    is_hidden = hits & (rng.random(cell.bank) < cell.hidden)
    scores = np.where(is_hidden, rng.standard_normal((2, cell.bank)), scores)
    return World(hits, np.log(np.maximum(bank.relative(g), 1e-300)), scores)


def numbers_of(seed: int, n: int) -> Floats:
    """Permanent random numbers, of the distribution of `two_phase.own_numbers` and a thousand times as fast."""
    return np.random.default_rng(seed).random(n)


def reported(world: World, cell: Cell, seed: int) -> Selection:
    """The selection of the sample that a search reports: of four at most, by what the first one shows."""
    own = numbers_of(seed, cell.bank)
    selection, is_done = _sampled(world, world.scores[0], own, cell.stop, np.zeros(cell.bank, dtype=bool))
    if cell.kernel != SURROGATE or is_done or selection.members.size < LEAST_SCENES:
        return selection
    if _passes(world, selection, seed):
        return selection
    drawn = np.zeros(cell.bank, dtype=bool)
    drawn[selection.members] = True
    return _sampled(world, world.scores[1], own, cell.stop, drawn)[0]


def _sampled(world: World, scores: Floats, own: Floats, stop: int, drawn: Flags) -> tuple[Selection, bool]:
    """The first sample by these scores, or the larger one of a common target; and whether the search ends with it.

    `drawn` are the scenes that were rendered before.
    """
    first, large = (_chosen(scores, own, m) for m in (FIRST, FIRST * GROWTH))
    is_common, is_enough = _common(world, first, large.members.size)
    if _has_enough(world, stop, drawn, first) or not is_common or is_enough:
        return first, _has_enough(world, stop, drawn, first) or (is_common and is_enough)
    _, is_enough = _common(world, large, large.members.size)
    return large, _has_enough(world, stop, drawn, large) or is_enough


def _chosen(scores: Floats, own: Floats, m: int) -> Selection:
    inclusion = np.empty(scores.size)
    inclusion[np.argsort(-scores)] = _by_rank(scores.size, m)
    return Selection(np.flatnonzero(own < inclusion), inclusion)


@lru_cache
def _by_rank(n: int, m: int) -> Floats:
    return inclusion_probabilities(np.arange(n, 0.0, -1.0), m)


def _common(world: World, selection: Selection, most: int) -> tuple[bool, bool]:
    """Whether 25 effective draws fit into a sample of `most`, and whether these are so many."""
    hits, weights, n = world.hits[selection.members], selection.weights, selection.n
    relative = weights * np.exp(world.log_weights[selection.members])
    ess = relative.sum() ** 2 / (relative @ relative)
    value = float(weights @ hits) / n
    if hits.sum() < LEAST_HITS or value > 0.5:
        is_known = bool(value > 0.5 and estimate(selection, hits.astype(float)).point is not None)
    else:
        deviation = math.sqrt(max(0.0, float(weights**2 @ hits) - n * value**2)) / n
        is_known = bool(deviation / value <= MAX_RELATIVE_ERROR)
    is_common = bool(is_known and selection.members.size * WANTED / ess <= most)
    return is_common, bool(is_common and (ess >= WANTED or selection.members.size == n))


def _has_enough(world: World, stop: int, drawn: Flags, selection: Selection) -> bool:
    if not stop:
        return False
    here = drawn.copy()
    here[selection.members] = True
    return bool(np.sum(world.hits & here) >= stop)


def _passes(world: World, selection: Selection, seed: int) -> bool:
    """Whether the first look may lead: `calibration_places` and `gate`, for scores without ties."""
    dear = world.log_weights[selection.members]
    order = np.argsort(-dear, kind="stable")
    others = order[SCENES // 2 :]
    size = min(SCENES - SCENES // 2, others.size)
    more = stream(seed, CALIBRATION_STREAM).choice(others, size=size, replace=False)
    places = np.sort([*order[: SCENES // 2], *more])
    cheap, dear = world.scores[0][selection.members[places]], dear[places]
    top = np.argsort(-dear, kind="stable")[: max(LEAST_IN_TOP, round(MAX_TOP_SHARE * dear.size))]
    return _correlation(cheap, dear) >= LEAST and _correlation(cheap[top], dear[top]) >= LEAST_TOP


def _correlation(a: Floats, b: Floats) -> float:
    first, second = (np.argsort(np.argsort(each)) for each in (a, b))
    return float(np.corrcoef(first, second)[0, 1])


def designs(first: Selection, cell: Cell, seed: int) -> Iterator[tuple[str, Selection]]:
    """What a search reports without a spread sample, and with each of several."""
    yield "own", first
    for m in SPREADS:
        if m < cell.bank:
            share = spread_share(m, cell.bank)
            spread = np.flatnonzero(numbers_of(seed + SPREADING, cell.bank) < share)
            yield f"{m} spread", with_spread(first, spread.tolist(), share)


class Sums(NamedTuple):
    """What an interval depends on: the sums of weights and squares over hits, and the heaviest weight."""

    total: float
    squares: float
    heaviest: float


def figures(cell: Cell, repeats: int) -> list[dict[str, object]]:
    """For each design and level: coverage, medians of both ends over the rate, and the share within FACTOR of it."""
    sums: dict[str, list[Sums]] = {}
    unusual: dict[str, dict[int, tuple[Selection, Floats]]] = {}  # nearly all hit that were seen
    for repeat in range(repeats):
        world = world_of(cell, repeat)
        for name, selection in designs(reported(world, cell, repeat), cell, repeat):
            values, weights = world.hits[selection.members].astype(float), selection.weights
            rows = sums.setdefault(name, [])
            if may_be_most(values, weights, selection.n):
                unusual.setdefault(name, {})[len(rows)] = (selection, values)
            rows.append(Sums(float(weights @ values), float(weights**2 @ values), selection.heaviest))
    found = []
    for name, level in product(sums, LEVELS):
        total, squares, heaviest = np.array(sums[name]).T
        low, high = weighted_bounds(total, squares, heaviest, cell.bank, level)
        for row, (selection, values) in unusual.get(name, {}).items():
            low[row], high[row] = estimate(selection, values, level).interval
        head = {**cell._asdict(), "design": name, "level": level, "repeats": repeats}
        found.append({**head, **_summary(low, high, cell.rate)})
    return found


def _summary(low: Floats, high: Floats, rate: float) -> dict[str, float]:
    return {
        "coverage": float(np.mean((low <= rate) & (rate <= high))),
        "high": round(float(np.median(high)) / rate, 2),
        "low": round(float(np.median(low)) / rate, 2),
        "within": float(np.mean((high <= FACTOR * rate) & (low >= rate / FACTOR))),
    }


def cells() -> list[Cell]:
    """Banks of the default size and large ones, with both kernels."""
    every = product((1000, 5000), ("block", SURROGATE), RATES, CORRELATIONS, STOPS)
    return [Cell(*each) for each in every if each[0] == 1000 or (each[3] in (0.8, 0.0) and each[4] in (0, 8))]


def table_cells() -> list[Cell]:
    """A rate of 0.5% with a bank of 5,000: a good score, one that hides 30% of the hits, and a worthless one."""
    return [Cell(5000, "block", 0.005, *each) for each in ((0.8, 0, 0.0), (0.8, 0, 0.3), (0.0, 0, 0.0))]


def run(wanted: Sequence[Cell], path: Path) -> None:
    """Simulate the cells that the file lacks; each is a few lines of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = {tuple(row[name] for name in Cell._fields) for row in stored(path)}
    for cell in wanted:
        if tuple(cell) not in done:
            lines = "".join(json.dumps(row) + "\n" for row in figures(cell, REPEATS))
            with path.open("a", encoding="utf-8") as file:
                file.write(lines)


def stored(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, none if there is none; a last line that a kill cut off is left out."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def show(folder: Path) -> None:
    """Print the cell of least coverage for each bank, kernel, design and level, and the table."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in stored(folder / "cells.jsonl"):
        groups.setdefault((row["bank"], row["kernel"], row["design"], row["level"]), []).append(row)
    for key, group in groups.items():
        worst = min(group, key=lambda row: float(row["coverage"]))
        where = ", ".join(f"{name} {worst[name]}" for name in ("rate", "correlation", "stop"))
        print(*key, f"cells {len(group)}, least coverage {worst['coverage']:.3f} ({where})", sep="; ")
    for row in stored(folder / "table.jsonl"):
        print(json.dumps(row))


def main(words: Sequence[str] | None = None) -> None:
    """Simulate, or show what was simulated."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("cells", "table", "show"))
    parser.add_argument("--out", type=Path, default=Path("runs/rates"))
    chosen = parser.parse_args(words)
    if chosen.what == "show":
        show(chosen.out)
    else:
        run(cells() if chosen.what == "cells" else table_cells(), chosen.out / f"{chosen.what}.jsonl")


if __name__ == "__main__":
    main()
