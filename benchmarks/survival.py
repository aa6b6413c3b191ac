"""Do found scenes stay in the level set under noise that nothing in their search has seen?

    python -m benchmarks.survival queries/demo.toml --out runs/survival --scenes 20 --look reference

Runs each query until it has found so many scenes, or resumes it; takes a run folder as it is. Renders every found
scene, and as many of its best prior misses, under two further noise draws at each look, and prints one JSON line a
query and look: the share that stays, the mean confidence of found scenes and of misses, and the hits of the prior
sample that the cheapest look would have missed.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trex.api.find import find_query, query_file
from trex.inference.scoring import Scorer
from trex.inference.types import PRIOR_CHAIN, Floats
from trex.pages.display import Display
from trex.query.schema import RenderSection
from trex.runs.draw_log import run_draws
from trex.runs.folder import RunFolder, open_run
from trex.runs.open_world import open_world
from trex.runs.record import BANK, Record
from trex.scenes.noise import fresh_draws
from trex.scenes.scene import Scene
from trex.search.progress import SearchProgress
from trex.search.results import Results, read_results
from trex.worlds.latents import scene_of
from trex.worlds.world import OpenWorld, open_renderer

DRAWS = 2  # further noise draws of each scene


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the queries and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("queries", nargs="+", type=Path, help="queries or run folders")
    parser.add_argument("--out", type=Path, default=Path("runs"))
    parser.add_argument("--scenes", type=int, default=20)
    parser.add_argument("--look", action="append")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    chosen = parser.parse_args(arguments)
    for path in chosen.queries:
        place = path
        if not path.is_dir():
            overrides = [f"search.stop_when_found={chosen.scenes}", *chosen.overrides]
            place = chosen.out / path.stem
            with Display() as display:
                find_query(query_file(path, overrides), place, SearchProgress(display), lambda folder: None)
        with open_run(place, for_writing=False) as folder, open_world(folder) as world:
            for look in chosen.look or ["reference"]:
                figures = survival(folder, world, look, chosen.scenes)
                print(
                    json.dumps({"query": path.stem, "model": folder.manifest.facts.model, **figures}),
                    flush=True,
                )


def survival(folder: RunFolder, world: OpenWorld, look: str, scenes: int) -> dict[str, object]:
    """The figures of one run at one look."""
    records = run_draws(folder)
    results, target = read_results(folder.manifest, records), folder.manifest.target
    found = [scene_of(hit.record.z) for hit in results.found[:scenes]]
    misses = best_misses(results, world, len(found))
    began = cpu_s()
    renderer = open_renderer(RenderSection(preset=look), world.plan.vocabulary, world.plan.processes)
    try:
        stay, sure = again(found, Scorer(renderer, world.plan.bound), world, folder)
        _, near = again(misses, Scorer(renderer, world.plan.bound), world, folder)
    finally:
        renderer.close()
    cheap = {record.index: np.array(record.log_probs) for record in records if is_cheapest(record)}
    hits = [
        target.is_hit(cheap[int(member)])
        for draw, member in zip(results.sample.draws, results.sample.selection.members, strict=True)
        if cheap and target.is_hit(draw.evaluation.log_probs)
    ]
    return {
        "look": look, "found": len(found), "fragile": len(results.fragile), "families": results.families.count,
        "stay": round(float(np.mean(stay)), 3) if stay else None, "draws": DRAWS,
        "confidence_found": mean(sure), "confidence_misses": mean(near),
        "hits_of_sample": len(hits), "missed_by_cheapest_look": len(hits) - sum(hits),
        "lead": results.calibration.lead if results.calibration else "",
        "rate": results.how_often.said.figure, "detail": results.how_often.said.detail,
        "renders": results.renders, "cheap": results.cheap, "cpu_s_of_this": round(cpu_s() - began, 1),
    }  # fmt: skip


def is_cheapest(record: Record) -> bool:
    """Whether this is a draw of the bank at the cheapest look."""
    return record.phase == BANK and record.chain == PRIOR_CHAIN


def best_misses(results: Results, world: OpenWorld, n: int) -> list[Scene]:
    """The prior scenes that are no hits, most confident first."""
    target = world.plan.target
    misses = [draw for draw in results.sample.draws if not target.is_hit(draw.evaluation.log_probs)]
    order = sorted(misses, key=lambda draw: -target.confidence(draw.evaluation.log_probs))
    return [scene_of(draw.z) for draw in order[:n]]


def again(
    scenes: Sequence[Scene], scorer: Scorer[Scene], world: OpenWorld, folder: RunFolder
) -> tuple[list[bool], list[float]]:
    """For each scene and further noise draw: whether it is a hit, and its confidence."""
    fresh, target = folder.manifest.query.render.fresh or 0, folder.manifest.target
    draws = [draw for scene in scenes for draw in fresh_draws(scene, fresh + DRAWS)[fresh:]]
    rows: list[Floats] = [scored.log_probs for scored in scorer.score(draws)]
    return [target.is_hit(row) for row in rows], [target.confidence(row) for row in rows]


def mean(values: Sequence[float]) -> float | None:
    """The mean, to three digits; None of nothing."""
    return round(float(np.mean(values)), 3) if values else None


def cpu_s() -> float:
    """CPU seconds of this process and its ended children."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
