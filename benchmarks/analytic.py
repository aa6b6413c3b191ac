"""Fits the analytic look (`trex.render.analytic`) to pictures at preset `fast`, and says how well it ranks scenes.

    python -m benchmarks.analytic fit --scenes 100
    python -m benchmarks.analytic rank queries/one_cube_without_cubes.toml --model shipped --look fast

`fit` takes the first scenes of the banks of CLEVR's worlds without cubes, without cylinders and without spheres (what
is missing is rendered), of each the first `--scenes` to fit and 40 more to judge, and writes the weights. Prints one
JSON line a world: the mean error of a pixel, of 255, on those that were not fitted. After a change of the weights raise
`look.VERSION`.

`rank` takes the first `--scenes` of the bank of each query's world at `--look` and compares the log probability of the
query's answer there with that at cheaper looks: Spearman's correlation over all scenes, and over the fifth that is
likeliest at `--look`. Prints one JSON line a query, model and cheap look, with the CPU milliseconds of a picture and of
scoring one; a look whose pictures came from a bank has no time of its own (null). `passes` is whether the look might
lead a search: the gate that a search applies to 32 scenes, here on all of them.

`kept` compares the scores that finished runs keep of the scenes of their spread sample, at the first look of the ladder
and at the deciding one, and renders nothing; with `--beside LOOK` it renders these scenes at that look, too.

    python -m benchmarks.analytic kept runs/RUN --beside sketch
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as a search scores

import numpy as np

from trex.bank.bank import bank_of
from trex.finding.source import query_file
from trex.foundation.errors import InputError
from trex.inference.scoring import images
from trex.inference.statistics.gate import gate
from trex.inference.targets.gaussian import GaussianTarget, label_indices
from trex.render.analytic import look
from trex.render.analytic.kernel import Floats
from trex.render.analytic.look import AnalyticRenderer, fit, write_weights
from trex.render.picture import Bytes, Picture
from trex.render.presets import ANALYTIC, ANALYTIC_SIZE
from trex.runs.draw_log import run_draws
from trex.runs.folder import open_run
from trex.runs.open_world import open_world
from trex.runs.record import BANK, SPREAD, Record
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR
from trex.worlds.looks import ladder
from trex.worlds.world import Plan

PRESET, SKETCH, JUDGED = "fast", "sketch", 40
WORLDS = ("cube", "cylinder", "sphere")  # each without one shape, so that all shapes occur


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, judge and write; or compare ranks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    fitting = verbs.add_parser("fit")
    fitting.add_argument("--scenes", type=int, default=100)
    fitting.add_argument("--out", type=Path, default=Path(look.__file__).with_name(look.WEIGHTS))
    ranking = verbs.add_parser("rank")
    ranking.add_argument("queries", nargs="+", type=Path)
    ranking.add_argument("--model", action="append", dest="models", help="default: the query's own")
    ranking.add_argument("--scenes", type=int, default=200)
    ranking.add_argument("--look", default=PRESET)
    ranking.add_argument(
        "--size", type=size_of, default=ANALYTIC_SIZE, help="of the analytic pictures: 240x160"
    )
    keeping = verbs.add_parser("kept")
    keeping.add_argument("runs", nargs="+", type=Path)
    keeping.add_argument("--beside", default="", help="a look of the ladder, say sketch")
    chosen = parser.parse_args(arguments)
    if chosen.verb == "kept":
        for path in chosen.runs:
            for row in kept(path, chosen.beside):
                print(json.dumps({"run": path.name, **row}), flush=True)
        return
    if chosen.verb == "fit":
        write_fit(chosen.scenes, chosen.out)
        return
    for path in chosen.queries:
        for model in chosen.models or [None]:
            changes = [f"render.preset={chosen.look}", *([f'model.name="{model}"'] if model else [])]
            for row in ranks(query_file(path, changes).plan(), chosen.scenes, chosen.size):
                print(json.dumps({"query": path.stem, **row}), flush=True)


def size_of(text: str) -> tuple[int, int]:
    """Width and height of "240x160"."""
    width, height = text.split("x")
    return int(width), int(height)


def write_fit(n: int, out: Path) -> None:
    """Fit to n scenes of each world, print the errors on others, write the weights."""
    worlds = {name: pictures(name, n + JUDGED) for name in WORLDS}
    fitted = [pair for pairs in worlds.values() for pair in pairs[:n]]
    weights = fit(fitted, CLEVR)
    for name, pairs in worlds.items():
        print(json.dumps({"without": name, "mean_error": round(mean_error(weights, pairs[-JUDGED:]), 3)}))
    write_weights(weights, out, f"{len(fitted)} pictures at preset {PRESET}")


def pictures(without: str, n: int) -> list[tuple[Scene, Bytes]]:
    """The first n scenes of a world's bank with their pictures."""
    prior = ScenePrior(CLEVR.revoke(without), (5, 5))
    with bank_of(prior, PRESET) as bank:
        bank.render(n)
        scenes = bank.scenes(range(n))
        return [
            (scene, picture.pixels)
            for scene, picture in zip(scenes, bank.renderer.render(scenes), strict=True)
        ]


def mean_error(weights: Floats, pairs: Sequence[tuple[Scene, Bytes]]) -> float:
    """The mean difference of a byte between shaded and rendered pictures."""
    made = AnalyticRenderer(*ANALYTIC_SIZE, weights=weights).render([scene for scene, _ in pairs])
    return float(
        np.mean(
            [np.abs(p.pixels.astype(float) - true).mean() for p, (_, true) in zip(made, pairs, strict=True)]
        )
    )


class Timed:
    """A renderer or a model and the CPU seconds of all its calls, over all threads of this process."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function, self.cpu_s = function, 0.0

    def __call__(self, given: Any) -> Any:
        before = time.process_time()
        try:
            return self._function(given)
        finally:
            self.cpu_s += time.process_time() - before


def ranks(plan: Plan, n: int, size: tuple[int, int]) -> Iterator[dict[str, object]]:
    """The figures of each cheap look, for the first n scenes of the bank of a query's world."""
    deciding = plan.query.render.preset
    with bank_of(plan, deciding) as bank:
        bank.render(n)
        scenes = bank.scenes(range(n))
        dear = log_probs(plan, bank.renderer.render(scenes))[0]
    for cheap in (ANALYTIC, SKETCH):
        if cheap == ANALYTIC:
            renderer = AnalyticRenderer(*size, plan.vocabulary)
            renderer.render(scenes[:1])  # compiles
            drawn = Timed(renderer.render)
            made, picture_ms = drawn(scenes), round(1000 * drawn.cpu_s / n, 1)
        else:
            with bank_of(plan, cheap) as bank:
                bank.render(n)
                made, picture_ms = bank.renderer.render(scenes), None
        rows, score_ms = log_probs(plan, made)
        yield {
            "model": plan.query.model.name, "deciding": deciding, "look": cheap,
            "size": "{1}x{0}".format(*made[0].mask.shape), "scenes": n, "picture_cpu_ms": picture_ms,
            "score_cpu_ms": score_ms,
            **compared(plan.target, label_indices(plan.bound.labels, plan.query.answer), rows, dear),
        }  # fmt: skip


def kept(run: Path, beside: str = "") -> Iterator[dict[str, object]]:
    """The figures of each cheap look for a run's spread sample, whose scenes the search itself scored at two looks."""
    with open_run(run, for_writing=False) as folder:
        resolved, records = folder.manifest.resolved, run_draws(folder)
        banked, spread = (scores_in(records, phase) for phase in (BANK, SPREAD))
        scenes = [scene for scene in spread if scene in banked]
        if not scenes:
            raise InputError(f"{run} has no scene both in a bank and in a spread sample")
        query, dear = resolved.query, np.stack([spread[scene] for scene in scenes])
        said = {"model": query.model.name, "deciding": query.render.preset, "scenes": len(scenes)}
        asked = label_indices(resolved.labels, query.answer)
        cheap = np.stack([banked[scene] for scene in scenes])
        yield {**said, "look": ladder(query.render)[0], **compared(resolved.target, asked, cheap, dear)}
        if beside:
            with open_world(folder) as world:
                cheap = np.stack([scored.log_probs for scored in world.scorer_at(beside).score(scenes)])
            yield {**said, "look": beside, **compared(resolved.target, asked, cheap, dear)}


def scores_in(records: Iterable[Record], phase: str) -> dict[Scene, Floats]:
    """By scene, the log probabilities of a phase; a bank that was scored at another look as well counts once."""
    return {row.scene: np.array(row.log_probs) for row in records if row.phase == phase and not row.rank}


def compared(target: GaussianTarget, asked: Sequence[int], cheap: Floats, dear: Floats) -> dict[str, object]:
    """How the rows (n, K) of log probabilities at two looks agree; `asked` are the places of the query's answer."""
    by_answer = gate(*(np.logaddexp.reduce(rows[:, list(asked)], axis=1) for rows in (cheap, dear)))
    return {
        "rank_correlation": rounded(by_answer.rank_correlation),
        "top_fifth": rounded(by_answer.top_fifth),
        "passes": gate(target.log_weights(cheap), target.log_weights(dear)).passes,
        "hits": int(np.sum([target.is_hit(row) for row in dear])),
    }


def log_probs(plan: Plan, made: Sequence[Picture]) -> tuple[Floats, float]:
    """(n, K): the model's log probabilities of pictures, one at a time as a search does; CPU milliseconds of one."""
    timed = Timed(plan.bound.log_probs)
    rows = [np.asarray(timed(images([picture])), dtype=np.float64)[0] for picture in made]
    return np.stack(rows), round(1000 * timed.cpu_s / len(rows), 1)


def rounded(value: float | None) -> float | None:
    """To three decimals; None where a look gives one value."""
    return None if value is None else round(value, 3)


if __name__ == "__main__":
    main()
