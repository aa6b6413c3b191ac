r"""Do found scenes stay in the level set under noise that nothing in their search has seen?

    python -m benchmarks.survival queries/demo.toml --out runs/survival --scenes 20 --look reference

Runs each query until it has found so many scenes, or resumes it; takes a run folder as it is. Asks twice more of every
found scene, and of as many of its best prior misses, at each look, each time under as many further noise draws as the
level set takes the mean of (`render.noise`). Prints one JSON line a query and look: the share that stays, the mean
confidence of found scenes and of misses, and the hits of the prior sample that the cheapest look would have missed.

    python -m benchmarks.survival queries/demo.toml --kept reproduce/measured/found --look clevr --found-only

`--keep DIR` writes the found scenes and the misses of each query and model to DIR, in CLEVR's format; `--kept DIR`
takes them from there instead of searching. `--found-only` leaves the misses out. With `--confirm`, kept scenes
count only if they are hits at the deciding look with the query's `noise` now, and stay under up to `fresh` draws:

    python -m benchmarks.survival queries/one_cube_without_cubes.toml --kept reproduce/measured/found --confirm \
        --set model.name=relation-network:original --set render.fresh=4 --look reference --found-only
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trex.finding.find import find_query
from trex.finding.source import query_file
from trex.inference.scoring import Scorer, log_mean
from trex.inference.statistics.staying import stays
from trex.inference.targets.gaussian import GaussianTarget
from trex.inference.types import Floats, Renderer
from trex.pages.display import Display
from trex.query.schema import RenderSection
from trex.runs.draw_log import run_draws
from trex.runs.folder import open_run
from trex.runs.open_world import open_world
from trex.runs.record import BANK, Record
from trex.scenes.clevr_format.scene_json import SceneRecord, read_scenes, write_scenes
from trex.scenes.noise import fresh_draws
from trex.scenes.scene import Scene
from trex.search.hits import BATCH
from trex.search.progress import SearchProgress
from trex.search.results import Results, read_results
from trex.worlds.latents import Latent
from trex.worlds.looks import deciding_scorer
from trex.worlds.world import Plan, open_renderer

DRAWS = 2  # times that each scene is asked again
SPLITS = ("found", "missed")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the queries and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("queries", nargs="+", type=Path, help="queries or run folders")
    parser.add_argument("--out", type=Path, default=Path("runs"))
    parser.add_argument("--scenes", type=int, default=20)
    parser.add_argument("--look", action="append")
    parser.add_argument("--keep", type=Path, help="a folder for the found scenes and misses")
    parser.add_argument("--kept", type=Path, help="such a folder: take them from there instead of searching")
    parser.add_argument("--found-only", action="store_true")
    parser.add_argument(
        "--confirm", action="store_true", help="of kept scenes, only those that survive render.fresh"
    )
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    chosen = parser.parse_args(arguments)
    looks: list[str] = chosen.look or ["reference"]
    if chosen.kept:
        for path in chosen.queries:
            plan = query_file(path, chosen.overrides).plan()
            scenes = read_kept(chosen.kept, path.stem, plan)
            if chosen.confirm:
                scenes = scenes._replace(found=confirmed(scenes.found, plan))
            for look in looks:
                print_figures(
                    path.stem, plan.model_name, rendered_again(plan, scenes, look, not chosen.found_only)
                )
        return
    for path in chosen.queries:
        place = path
        if not path.is_dir():
            overrides = [f"search.stop_when_found={chosen.scenes}", *chosen.overrides]
            place = chosen.out / path.stem
            with Display() as display:
                find_query(query_file(path, overrides), place, SearchProgress(display), lambda folder: None)
        with open_run(place, for_writing=False) as folder, open_world(folder) as world:
            records = run_draws(folder)
            results, plan = read_results(folder.manifest, records), world.plan
            found = [hit.record.z for hit in results.found[: chosen.scenes]]
            shown = Shown(found, best_misses(results, plan.target, len(found)))
            if chosen.keep:
                write_kept(chosen.keep, path.stem, plan, shown)
            for look in looks:
                figures = rendered_again(plan, shown, look, not chosen.found_only)
                print_figures(path.stem, plan.model_name, figures | of_search(results, plan.target, records))


class Shown(NamedTuple):
    """Found scenes, and the most confident prior misses."""

    found: Sequence[Scene]
    misses: Sequence[Scene]


def print_figures(query: str, model: str, figures: dict[str, object]) -> None:
    """Print a line of figures."""
    print(json.dumps({"query": query, "model": model, **figures}), flush=True)


def kept_path(place: Path, query: str, plan: Plan) -> Path:
    """The file of a query's scenes, found for this model."""
    return place / f"{query}-{plan.query.model.name.replace(':', '-')}.json"


def write_kept(place: Path, query: str, plan: Plan, shown: Shown) -> None:
    """Write the scenes of a search."""
    place.mkdir(parents=True, exist_ok=True)
    rows = [
        SceneRecord(scene, f"{split}-{number}.png", number, split)
        for split, scenes in zip(SPLITS, shown, strict=True)
        for number, scene in enumerate(scenes)
    ]
    write_scenes(
        kept_path(place, query, plan), rows, {"split": "both", "query": query, "model": plan.model_name}
    )


def read_kept(place: Path, query: str, plan: Plan) -> Shown:
    """The scenes of a search that was kept."""
    rows = list(read_scenes(kept_path(place, query, plan), plan.vocabulary))
    found, misses = ([row.scene for row in rows if row.split == split] for split in SPLITS)
    return Shown(found, misses)


def confirmed(scenes: Sequence[Scene], plan: Plan) -> list[Scene]:
    """Those that are hits and stay under fresh draws, as a search decides it, at the deciding look."""
    render = plan.query.render
    renderer = open_renderer(render, plan.vocabulary, plan.processes)
    try:
        scorer = deciding_scorer(render, renderer, plan.bound, plan.vocabulary)
        hits = [z for z in scenes if plan.target.is_hit(scorer.score([z])[0].log_probs)]
        return [z for z in hits if holds_out(z, scorer, plan.target, render.fresh or 0)]
    finally:
        renderer.close()


def holds_out(scene: Scene, scorer: Scorer[Latent], target: GaussianTarget, most: int) -> bool:
    """Whether a hit stays under up to so many noise draws."""
    rows: list[Floats] = []
    while len(rows) < most:
        due = fresh_draws(scene, min(BATCH, most - len(rows)), len(rows))
        rows += [scored.log_probs for scored in scorer.score(due)]
        stay = stays([target.margin(row) for row in rows], target.is_hit(log_mean(rows)), most)
        if stay is not None:
            return stay
    return True


def rendered_again(plan: Plan, shown: Shown, look: str, has_misses: bool) -> dict[str, object]:
    """The figures of these scenes at one look."""
    began = cpu_s()
    renderer = open_renderer(RenderSection(preset=look), plan.vocabulary, plan.processes)
    try:
        stay, sure = again(shown.found, renderer, plan)
        _, near = again(shown.misses if has_misses else (), renderer, plan)
    finally:
        renderer.close()
    return {
        "look": look, "found": len(shown.found), "stay": round(float(np.mean(stay)), 3) if stay else None,
        "draws": DRAWS, "confidence_found": mean(sure), "confidence_misses": mean(near),
        "cpu_s_of_this": round(cpu_s() - began, 1),
    }  # fmt: skip


def of_search(results: Results, target: GaussianTarget, records: Sequence[Record]) -> dict[str, object]:
    """The figures of the search that found them."""
    cheap = {record.index: np.array(record.log_probs) for record in records if is_cheapest(record)}
    hits = [
        target.is_hit(cheap[int(member)])
        for draw, member in zip(results.sample.draws, results.sample.selection.members, strict=True)
        if cheap and target.is_hit(draw.state.log_probs)
    ]
    return {
        "fragile": len(results.fragile), "families": results.families.count,
        "hits_of_sample": len(hits), "missed_by_cheapest_look": len(hits) - sum(hits),
        "lead": results.calibration.lead if results.calibration else "",
        "rate": results.how_often.rate.figure, "detail": results.how_often.rate.detail,
        "renders": results.renders, "cheap": results.cheap,
    }  # fmt: skip


def is_cheapest(record: Record) -> bool:
    """Whether this is a draw of the bank at the cheapest look."""
    return record.phase == BANK and not record.rank


def best_misses(results: Results, target: GaussianTarget, n: int) -> list[Scene]:
    """The prior scenes that are no hits, most confident first."""
    misses = [draw for draw in results.sample.draws if not target.is_hit(draw.state.log_probs)]
    order = sorted(misses, key=lambda draw: -target.confidence(draw.state.log_probs))
    return [draw.z for draw in order[:n]]


def again(scenes: Sequence[Scene], renderer: Renderer[Scene], plan: Plan) -> tuple[list[bool], list[float]]:
    """For each scene and time that it is asked again: whether it is a hit, and its confidence."""
    fresh, n, target = plan.query.render.fresh or 0, plan.query.render.noise, plan.target
    rows: list[Floats] = []
    for first in range(fresh, fresh + DRAWS * n, n):
        scorer = Scorer(renderer, plan.bound, draws=partial(further, first=first, n=n))
        rows += [scored.log_probs for scored in scorer.score(scenes)]
    return [target.is_hit(row) for row in rows], [target.confidence(row) for row in rows]


def further(scene: Scene, first: int, n: int) -> Sequence[Scene]:
    """n fresh draws of a scene after so many."""
    return fresh_draws(scene, first + n)[first:]


def mean(values: Sequence[float]) -> float | None:
    """The mean, to three digits; None of nothing."""
    return round(float(np.mean(values)), 3) if values else None


def cpu_s() -> float:
    """CPU seconds of this process and its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
