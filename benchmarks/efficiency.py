"""What a search finds for the same CPU time: today's search against the block kernel without a bank.

    python -m benchmarks.efficiency queries/one_cube_without_cubes.toml --out runs/efficiency --cpu 600 --seeds 1

Each search ends once its pictures have cost `--cpu` seconds, by the costs of one core in docs/PERFORMANCE.md, which do
not depend on what else runs. Prints one JSON line a search: distinct scenes that survive fresh noise, families, chains
that hit, effective size of its draws, and the cost of the bank, which `shared` leaves out and `own` counts.
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
from trex.runs.draw_log import drawn
from trex.runs.folder import open_run
from trex.runs.record import BANK, CALIBRATION, FRESH, Record
from trex.search.progress import Status
from trex.search.render_speed import CPU_S
from trex.search.results import Results
from trex.worlds.looks import ladder

SEARCHES = {
    "block": ["search.bank=0", "search.kernel=block"],
    "own bank": [],
    "shared bank": [],
}


class Spent(Exception):
    """The budget is spent."""


class Budget:
    """Ends a search once its pictures have cost so many CPU seconds."""

    def __init__(self, place: Path, query: Query, cpu_s: float, counts_bank: bool) -> None:
        self._place, self._query, self._left, self._bank = place, query, cpu_s, counts_bank
        self._read = 0

    def update(self, status: Status) -> None:
        """Called after each write to the disk."""
        with open_run(self._place, for_writing=False) as folder:
            if cost(drawn_or_none(folder), self._query, self._bank) >= self._left:
                raise Spent


def drawn_or_none(folder: object) -> list[Record]:
    """The draws so far."""
    from trex.runs.draw_log import read_draws
    from trex.runs.folder import RunFolder

    assert isinstance(folder, RunFolder)
    return read_draws(folder.draws, folder.manifest)


def cost(records: Sequence[Record], query: Query, counts_bank: bool) -> float:
    """CPU seconds that the pictures of these records cost, by the table of documented costs."""
    looks, render = ladder(query.render.preset), query.render
    dear = CPU_S[render.preset]
    total = 0.0
    for record in records:
        if record.phase == BANK:
            total += CPU_S[looks[0]] if counts_bank else 0.0
        elif record.phase == CALIBRATION:
            total += CPU_S[looks[record.chain]]
        else:
            each = (render.fresh or 0) if record.phase == FRESH else render.noise
            total += each * dear if record.is_rendered else 0.0
            total += record.figures.get("inner_renders", 0) * CPU_S[looks[0]] if looks else 0.0
    return total


def main(arguments: Sequence[str] | None = None) -> None:
    """Run all searches and print their figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("queries", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cpu", type=float, default=600.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    chosen = parser.parse_args(arguments)
    for path in chosen.queries:
        for seed in range(chosen.seeds):
            for name, settings in SEARCHES.items():
                overrides = [*chosen.overrides, *settings, f"search.seed={seed}", "search.stop_when_found=0"]
                place = chosen.out / f"{path.stem}-{name.replace(' ', '-')}-{seed}"
                found = run(path, overrides, place, chosen.cpu, counts_bank=name != "shared bank")
                print(
                    json.dumps(
                        {"query": path.stem, "seed": seed, "search": name, "cpu_s": chosen.cpu, **found}
                    ),
                    flush=True,
                )


def run(
    path: Path, overrides: Sequence[str], place: Path, cpu_s: float, *, counts_bank: bool
) -> dict[str, object]:
    """The figures of one search."""
    source = query_file(path, overrides)
    budget = Budget(place, source.plan().query, cpu_s, counts_bank)
    with suppress(Spent):
        find_query(source, place, budget, lambda folder: None)
    with open_run(place, for_writing=True) as folder:
        return figures(conclude_run(folder, drawn(folder)).findings)


def figures(findings: Results) -> dict[str, object]:
    """What the findings amount to."""
    target_hits = [chain for chain in by_chain(findings.chains) if chain]
    informative = [one.ess for one in findings.conclusion.diagnoses if one.is_informative]
    return {
        "distinct": len(findings.found), "fragile": len(findings.fragile), "families": findings.families.count,
        "chains": len(target_hits), "chains_hit": findings.conclusion.n_chains_hit,
        "least_ess": round(min(informative), 1) if informative else None,
        "prior_ess": round(findings.how_often.ess, 1),
        "renders": findings.renders, "cheap": findings.cheap, "rate": findings.how_often.said.figure,
    }  # fmt: skip


if __name__ == "__main__":
    main()
