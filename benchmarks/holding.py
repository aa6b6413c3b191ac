r"""Does what a search calls found stay, and do the figures of how far it holds say what further draws show?

    trex find QUERY.toml --out runs/holding/NAME         # each query
    python -m benchmarks.holding runs/holding/* --out runs/holding.jsonl

Renders every hit that a run has checked, found or fragile, with ten further noise seeds (`--draws`), and every found
one from twenty further viewpoints (`--views`) that follow from another stream than those of `holds.json`, which it
completes. `--out` keeps each hit as soon as it is done, so the same command resumes.

Prints one JSON line a run and one for all: of the hits that the first two noise draws would have called found
(`before`), and of those that are (`now`), how many, the mean share of further draws that stays and that of the worst
scene; and for the run's measured shares (`trex.trials.holds`), their intervals and the shares of the further pictures.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trex.foundation.codec import Codec
from trex.foundation.progress import silent
from trex.inference.scoring import log_mean
from trex.inference.statistics.proportion import Proportion
from trex.query.schema import RenderSection
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder, open_run
from trex.runs.open_world import open_world
from trex.runs.record import NOISE, Record
from trex.scenes.noise import fresh_draws, with_seed
from trex.scenes.views import other_views
from trex.search.hit import Hit
from trex.search.render_speed import NOISE as HELD_NOISE
from trex.search.results import read_results
from trex.trials.holds import Holds, holds_of, measure_holds
from trex.trials.lines import Lines
from trex.worlds.latents import identity
from trex.worlds.looks import deciding_scorer
from trex.worlds.world import OpenWorld

BEFORE = 2  # noise draws whose mean decided in earlier versions


@dataclass(frozen=True)
class FurtherDraws:
    """A checked hit of a run, by its place in the log: who calls it found, and which further pictures are hits."""

    run: str
    place: str
    before: bool
    now: bool
    checks: int
    noise: tuple[bool, ...]
    views: tuple[bool, ...]


class Share(NamedTuple):
    """Of several hits: how many, the mean share of further noise draws that stay, and the least one."""

    found: int
    stay: float | None
    worst: float | None


def main(arguments: Sequence[str] | None = None) -> None:
    """Render what is missing and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--views", type=int, default=20)
    chosen = parser.parse_args(arguments)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    with Lines(chosen.out, Codec(FurtherDraws)) as rows:
        for path in chosen.runs:
            with open_run(path, for_writing=True) as folder:
                results = read_results(folder.manifest, run_draws(folder))
                measure_holds(folder, results.found, silent)
                render_missing(folder, rows, chosen.draws, chosen.views)
                mine = [row for row in rows.values if row.run == path.name]
                print(
                    json.dumps(
                        {"run": path.name, **figures(mine), **held(holds_of(folder, results, None), mine)}
                    )
                )
        print(json.dumps({"run": "all", **figures(rows.values)}))


def render_missing(folder: RunFolder, rows: Lines[FurtherDraws], draws: int, views: int) -> None:
    """Render the checked hits of a run that `rows` lack."""
    records = run_draws(folder)
    results = read_results(folder.manifest, records)
    made = {identity(record.z): record for record in records if record.phase == NOISE}
    known = {(row.run, row.place) for row in rows.values}
    checked = [(hit, True) for hit in results.found] + [(hit, False) for hit in results.fragile]
    missing = [pair for pair in checked if pair[0].noise and (folder.path.name, place(pair[0])) not in known]
    if not missing:
        return
    with open_world(folder) as world:
        for hit, is_found in missing:
            rows.append([further(folder, world, hit, is_found, made, (draws, views))])


def further(
    folder: RunFolder,
    world: OpenWorld,
    hit: Hit,
    is_found: bool,
    made: dict[object, Record],
    n: tuple[int, int],
) -> FurtherDraws:
    """A hit with further pictures of its own."""
    plan, scene, (draws, views) = world.plan, hit.record.scene, n
    render: RenderSection = plan.query.render
    assert hit.noise is not None, "it was checked"
    first = [np.array(made[identity(z)].log_probs) for z in fresh_draws(scene, min(BEFORE, hit.noise.n))]
    noise = world.scorer.score(fresh_draws(scene, draws, (render.fresh or 0) + HELD_NOISE))
    seen = []
    if is_found:
        rng = np.random.default_rng([scene.noise, views])
        others = other_views(rng, scene, views, plan.vocabulary).scenes
        one = deciding_scorer(
            render.model_copy(update={"views": 1}), world.renderer, plan.bound, plan.vocabulary
        )
        seen = one.score([with_seed(view, "further view", k) for k, view in enumerate(others)])
    return FurtherDraws(
        folder.path.name, place(hit), plan.target.is_hit(log_mean(first)), is_found, hit.noise.n,
        *(tuple(plan.target.is_hit(scored.log_probs) for scored in part) for part in (noise, seen)),
    )  # fmt: skip


def place(hit: Hit) -> str:
    """The step of a hit: "chain 2 17"."""
    phase, chain, index = hit.record.key
    return f"{phase} {chain} {index}"


def figures(rows: Sequence[FurtherDraws]) -> dict[str, object]:
    """What stays of the hits that each rule calls found, and the noise draws that they took."""
    before, now = stay([row for row in rows if row.before]), stay([row for row in rows if row.now])
    checks = round(float(np.mean([row.checks for row in rows])), 2) if rows else None
    return {"before": before._asdict(), "now": now._asdict(), "checks_a_hit": checks}


def stay(rows: Sequence[FurtherDraws]) -> Share:
    """The share of further noise draws that stay."""
    each = [float(np.mean(row.noise)) for row in rows]
    return (
        Share(len(each), round(float(np.mean(each)), 3), round(min(each), 3))
        if each
        else Share(0, None, None)
    )


def held(found: Holds, rows: Sequence[FurtherDraws]) -> dict[str, object]:
    """The measured shares with their intervals, beside those of the further pictures of the found hits."""
    kept = [row for row in rows if row.now]
    pairs: dict[str, tuple[Proportion | None, list[bool]]] = {
        "noise": (found.noise, [flag for row in kept for flag in row.noise]),
        "views": (found.views_in_set, [flag for row in kept for flag in row.views]),
    }
    return {
        name: {
            "measured": round(share.value, 3),
            "interval": [round(end, 3) for end in share.interval],
            "further": round(float(np.mean(flags)), 3),
        }
        for name, (share, flags) in pairs.items()
        if share and flags
    }


if __name__ == "__main__":
    main()
