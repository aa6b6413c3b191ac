"""What a search finds for the same CPU time: today's search, the block kernel without a bank, and the paper's way.

    python -m benchmarks.efficiency queries/one_cube_without_cubes.toml --out runs/efficiency --cpu 600 --seeds 1

Each search ends once its pictures have cost `--cpu` seconds, by the costs of one core in docs/PERFORMANCE.md, which do
not depend on what else runs. Prints one JSON line a search: distinct scenes that survive fresh noise, families, chains
that hit, effective sizes, and `cpu_s_for_25`, the CPU seconds for 25 effective scenes. The whole bank counts for `own
bank`, a fifth of it for `shared bank`: five queries share it. `published` is the paper's random walk; its steps are
taken at the query's look, and for `cpu_s_for_25` each costs what the paper's pictures do. Where it has no effective
scene, that is a lower bound: what its steps would have cost. `--search` takes only some of the searches.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from trex.api.find import conclude_run, find_query, query_file
from trex.inference.statistics.diagnostics import by_chain
from trex.query.schema import Query
from trex.runs.draw_log import read_draws, run_draws
from trex.runs.folder import open_run
from trex.search.cost import cpu_s_of
from trex.search.progress import Status
from trex.search.results import Results

SEARCHES = {
    "block": ["search.bank=0", "search.kernel=block"],
    "own bank": [],
    "shared bank": [],
    "published": ["search.bank=0", "search.kernel=random_walk"],
}
SHARES = {"shared bank": 0.2}  # of the bank's cost that a search pays, if not all of it
EFFECTIVE = 25  # scenes that stand for a level set (trex.inference.statistics.budget)
PUBLISHED_CPU_S = 123.0  # docs/PERFORMANCE.md, render.cpu_s.published


class Spent(Exception):
    """The budget is spent."""


class Budget:
    """Ends a search once its pictures have cost so many CPU seconds."""

    def __init__(self, place: Path, query: Query, cpu_s: float, of_bank: float) -> None:
        self._place, self._query, self._left, self._bank = place, query, cpu_s, of_bank
        self._read = 0

    def update(self, status: Status) -> None:
        """Called after each write to the disk."""
        with open_run(self._place, for_writing=False) as folder:
            if cpu_s_of(read_draws(folder.draws, folder.manifest), self._query, self._bank) >= self._left:
                raise Spent


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all searches and print their figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("queries", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cpu", type=float, default=600.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--search", action="append", choices=list(SEARCHES))
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    chosen = parser.parse_args(arguments)
    for path in chosen.queries:
        for seed in range(chosen.seeds):
            for name in chosen.search or SEARCHES:
                overrides = [
                    *chosen.overrides,
                    *SEARCHES[name],
                    f"search.seed={seed}",
                    "search.stop_when_found=0",
                ]
                place = chosen.out / f"{path.stem}-{name.replace(' ', '-')}-{seed}"
                found = run(path, overrides, place, chosen.cpu, SHARES.get(name, 1.0))
                print(
                    json.dumps(
                        {"query": path.stem, "seed": seed, "search": name, "cpu_s": chosen.cpu, **found}
                    ),
                    flush=True,
                )


def run(path: Path, overrides: Sequence[str], place: Path, cpu_s: float, of_bank: float) -> dict[str, object]:
    """The figures of one search."""
    source = query_file(path, overrides)
    query = source.plan().query
    with suppress(Spent):
        find_query(source, place, Budget(place, query, cpu_s, of_bank), lambda folder: None)
    with open_run(place, for_writing=True) as folder:
        records = run_draws(folder)
        results = conclude_run(folder, records).results
    spent = cpu_s_of(records, query, of_bank)
    if query.search.kernel == "random_walk":
        spent = results.renders * PUBLISHED_CPU_S
    return figures(results) | cost_of_effective(results, spent)


def cost_of_effective(results: Results, spent: float) -> dict[str, object]:
    """CPU seconds for 25 effective scenes at the price of this search; a bound if it has none."""
    hits = results.conclusion.n_chains_hit
    chains = [one.ess for one in results.conclusion.diagnoses if one.is_informative] if hits else []
    effective = max(results.how_often.ess if results.how_often.hits else 0.0, min(chains, default=0.0))
    seconds = spent * EFFECTIVE / effective if effective else spent
    return {"spent_cpu_s": round(spent), "cpu_s_for_25": round(seconds), "is_bound": not effective}


def figures(results: Results) -> dict[str, object]:
    """What the results amount to."""
    informative = [one.ess for one in results.conclusion.diagnoses if one.is_informative]
    return {
        "distinct": len(results.found), "fragile": len(results.fragile), "families": results.families.count,
        "chains": len(by_chain(results.chains)), "chains_hit": results.conclusion.n_chains_hit,
        "least_ess": round(min(informative), 1) if informative else None,
        "prior_ess": round(results.how_often.ess, 1),
        "renders": results.renders, "cheap": results.cheap, "rate": results.how_often.said.figure,
    }  # fmt: skip


if __name__ == "__main__":
    main()
