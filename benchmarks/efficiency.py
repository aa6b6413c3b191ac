"""What a search finds for the same CPU time: the block kernel without a bank, today's search, and the paper's way.

    python -m benchmarks.efficiency queries/one_cube_without_cubes.toml --out runs/efficiency --cpu 1200 --seeds 3

Each search ends once its pictures have cost `--cpu` seconds, by the costs in docs/reference/presets.md, which do
not depend on what else runs; no step counts as warmup. Prints one JSON line a search: distinct scenes that survive
fresh noise, families, chains that hit, effective sizes, and `cpu_s_for_25`, the CPU seconds for 25 effective scenes;
then the medians over the seeds, and how many times as many distinct scenes today's search finds as the block kernel.
Today's search is read twice: the whole bank counts for `own bank`, a fifth of it for `shared bank`, as if five queries
shared it. `published` is the paper's random walk; its steps are taken at the query's look, and for `cpu_s_for_25` each
costs what the paper's pictures do. If its chains are stuck, each with its own value of a summary, that is a lower
bound: a stuck chain counts as one effective scene. `--search` takes only some of the searches. Run folders below
`--out` are resumed, and what they hold is not searched again.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from benchmarks.figure import show, show_spread
from trex.finding.find import find_query
from trex.finding.source import query_file
from trex.inference.statistics.diagnostics import by_chain
from trex.query.schema import Query
from trex.runs.draw_log import read_draws, run_draws
from trex.runs.folder import is_run, open_run
from trex.runs.record import Record
from trex.search.cost import cpu_s_of
from trex.search.progress import Status
from trex.search.results import Results, read_results

QUERIES = tuple(
    Path("queries", f"{name}.toml")
    for name in ("one_cube_without_cubes", "one_cylinder_without_cylinders", "five_spheres")
)
CPU_S = 1200.0
SEEDS = 3
SEARCHES = {
    "block": ["search.bank=0", "search.kernel=block"],
    "bank": [],
    "published": ["search.bank=0", "search.kernel=random_walk"],
}
# of each search, the names under which it is read, with the share of the bank's cost that each pays
READINGS = {
    "block": {"block": 1.0}, "bank": {"own bank": 1.0, "shared bank": 0.2}, "published": {"published": 1.0}
}  # fmt: skip
EFFECTIVE = 25  # scenes that stand for a level set (trex.inference.statistics.budget)
CHECK_S = 20.0  # what a search makes beyond its budget is not read
PUBLISHED_CPU_S = 123.0  # docs/reference/presets.md, render.cpu_s.published
Figures = dict[str, object]


class Spent(Exception):
    """The budget is spent."""


class Budget:
    """Ends a search once its pictures have cost so many CPU seconds."""

    def __init__(self, place: Path, query: Query, cpu_s: float, of_bank: float) -> None:
        self._place, self._query, self._left, self._bank = place, query, cpu_s, of_bank
        self._next_check = time.monotonic()

    def update(self, status: Status) -> None:
        """Called after each write to the disk; reads the draws again only now and then."""
        if time.monotonic() >= self._next_check:
            self.check()
            self._next_check = time.monotonic() + CHECK_S

    def note(self, words: str) -> None:
        """Nothing: the models here answer."""

    def check(self) -> None:
        """Raise Spent if the draws on the disk have cost it."""
        with open_run(self._place, for_writing=False) as folder:
            if cpu_s_of(read_draws(folder.draws, folder.manifest), self._query, self._bank) >= self._left:
                raise Spent


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all searches and print their figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("queries", nargs="*", type=Path, default=QUERIES)
    parser.add_argument("--out", type=Path, default=Path("runs/efficiency"))
    parser.add_argument("--cpu", type=float, default=CPU_S)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--search", action="append", choices=list(SEARCHES))
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    chosen = parser.parse_args(arguments)
    for path in chosen.queries:
        rows: dict[str, list[Figures]] = {}
        for seed in range(chosen.seeds):
            for name in chosen.search or SEARCHES:
                overrides = [
                    *chosen.overrides,
                    *SEARCHES[name],
                    f"search.seed={seed}",
                    "search.stop_when_found=0",
                ]
                place = chosen.out / f"{path.stem}-{name}-{seed}"
                search(path, overrides, place, chosen.cpu, name)
                for reading, figures in readings(place, chosen.cpu, name).items():
                    print(
                        json.dumps({"query": path.stem, "seed": seed, "search": reading, **figures}),
                        flush=True,
                    )
                    rows.setdefault(reading, []).append(figures)
        show_medians(path.stem, rows)


def efficiency(seeds: int = SEEDS) -> None:
    """The part of `make bench`: three queries, the block kernel and today's search; hours, resumed where it was cut."""
    words = ["--seeds", str(seeds), "--search", "block", "--search", "bank"]
    main([*map(str, QUERIES), *words])


def show_medians(query: str, rows: dict[str, list[Figures]]) -> None:
    """The medians over the seeds, and the ratios of distinct scenes to those of the block kernel."""
    medians = {
        (reading, name): show_spread(
            f"efficiency.{query}.{reading.replace(' ', '_')}.{name}",
            [float(str(row[name])) for row in found],
            unit,
        )
        for reading, found in rows.items()
        for name, unit in (
            ("distinct", "scenes"), ("families", "families"), ("chains_hit", "chains"),
            ("effective_a_cpu_s", "effective scenes a CPU s"),
        )
    }  # fmt: skip
    for reading in ("own bank", "shared bank"):
        if (reading, "distinct") in medians and medians.get(("block", "distinct")):
            name = f"efficiency.{query}.{reading.replace(' ', '_')}.ratio"
            show(
                name,
                medians[reading, "distinct"] / medians["block", "distinct"],
                "of block's distinct scenes",
            )


def search(path: Path, overrides: Sequence[str], place: Path, cpu_s: float, name: str) -> None:
    """Search until every reading of this search has spent its budget, or the search ends."""
    source = query_file(path, overrides)
    query = source.plan().query
    budget = Budget(place, query, cpu_s, min(READINGS[name].values()))
    with suppress(Spent):
        if is_run(place):
            budget.check()
        find_query(source, place, budget, lambda folder: None)


def readings(place: Path, cpu_s: float, name: str) -> dict[str, Figures]:
    """The figures of a search by reading, each of the draws that its budget pays."""
    found: dict[str, Figures] = {}
    with open_run(place, for_writing=False) as folder:
        records, query = run_draws(folder), folder.manifest.query
        unwarmed = query.model_copy(update={"search": query.search.model_copy(update={"warmup": 0})})
        manifest = folder.manifest.model_copy(update={"query": unwarmed})
        for reading, share in READINGS[name].items():
            cost = partial(cost_of_first, records, query, share)
            paid = records[: bisect_left(range(len(records)), cpu_s, key=cost)]
            results, spent = read_results(manifest, paid), cost(len(paid))
            if query.search.kernel == "random_walk":
                spent = results.renders * PUBLISHED_CPU_S
            found[reading] = {
                "look": query.render.preset, "cpu_s": cpu_s, **figures_of(results), **cost_of_effective(results, spent)
            }  # fmt: skip
    return found


def cost_of_first(records: Sequence[Record], query: Query, of_bank: float, n: int) -> float:
    """CPU seconds of the pictures of the first n records."""
    return cpu_s_of(records[:n], query, of_bank)


def cost_of_effective(results: Results, spent: float) -> Figures:
    """CPU seconds for 25 effective scenes at the price of this search; a lower bound if it has no effective size.

    If a summary differs between the chains and changes within none, each chain that hits stands for one scene at most.
    """
    hits = results.conclusion.n_chains_hit
    chains = least_ess(results) if hits else None
    effective = max(results.how_often.ess if results.how_often.hits else 0.0, chains or 0.0)
    at_most = hits if chains == 0.0 else EFFECTIVE  # 0: stuck; None: not known
    seconds = spent * EFFECTIVE / (effective or at_most)
    return {
        "spent_cpu_s": round(spent), "effective_a_cpu_s": effective / spent if spent else 0.0,
        "cpu_s_for_25": round(seconds), "is_bound": not effective,
    }  # fmt: skip


def least_ess(results: Results) -> float | None:
    """The least effective size of the informative diagnoses; None if there is none, or one of them has none."""
    known = [diagnosis.ess for diagnosis in results.conclusion.diagnoses if diagnosis.is_informative]
    return min(known) if known and all(map(math.isfinite, known)) else None


def figures_of(results: Results) -> Figures:
    """What the results amount to."""
    least = least_ess(results)
    return {
        "distinct": len(results.found), "fragile": len(results.fragile), "families": results.families.count,
        "chains": len(by_chain(results.chains)), "chains_hit": results.conclusion.n_chains_hit,
        "least_ess": None if least is None else round(least, 1),
        "prior_ess": round(results.how_often.ess, 1),
        "renders": results.renders, "cheap": results.cheap, "rate": results.how_often.rate.figure,
    }  # fmt: skip


if __name__ == "__main__":
    main()
