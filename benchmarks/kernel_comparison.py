"""At equal budget on the fake world: how often does each kernel reach a rare level set from one random scene?

    python -m benchmarks.kernel_comparison [--runs 40] [--budget 300] [--write]

Prints one JSON object a line; --write also renews benchmarks/KERNELS.md. The budget counts renders, the start included;
a scene that the prior does not allow is rejected and costs none, for both kernels alike.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from scipy.stats import fisher_exact

from clevr_models.fake import ColorArea
from inference.importance import Interval, clopper_pearson, no_hit_bound, prior_draws
from inference.kernel import Metropolis
from inference.rng import stream
from inference.scoring import Scorer
from inference.targets import ambiguous_pair, high_confidence
from render.fake import FakeRenderer
from scenes.prior import ScenePrior
from scenes.proposals import SceneMove, block_moves
from scenes.random_walk import RandomWalk
from scenes.vocabulary import CLEVR

SEED = 2_021
PRIOR = ScenePrior(CLEVR.revoke("red"), (5, 5))
MODEL = ColorArea(color="red")
SCORER = Scorer(FakeRenderer(60, 40), MODEL)
TARGETS = {
    "1 or 2 red things?": ambiguous_pair(MODEL.labels, ("1", "2")),
    "2 red things": high_confidence(MODEL.labels, "2"),
    "3 red things": high_confidence(MODEL.labels, "3"),
}
MOVES: dict[str, SceneMove] = {"random walk": RandomWalk(PRIOR.vocabulary), "block": block_moves(PRIOR)}
MAX_STEPS_PER_RENDER = 100


@dataclass(frozen=True)
class Job:
    """One chain."""

    target: str
    move: str
    run: int
    budget: int


def first_hit(job: Job) -> float:
    """The render at which the chain first saw the level set, inf where it did not within the budget."""
    rng = stream(SEED, job.run)  # the same start for every kernel
    target = TARGETS[job.target]
    kernel = Metropolis(PRIOR, MOVES[job.move], SCORER, target)
    state, renders = kernel.init(PRIOR.sample(rng)), 1
    if target.is_hit(state.evaluation.log_probs):
        return 1
    for _ in range(job.budget * MAX_STEPS_PER_RENDER):
        state, info = kernel.step(rng, state)
        renders += info.was_rendered
        if info.evaluation is not None and target.is_hit(info.evaluation.log_probs):
            return renders
        if renders >= job.budget:
            break
    return math.inf


def prior_hits(part: tuple[int, int]) -> list[int]:
    """How many of these prior draws hit each target."""
    draws = prior_draws(SEED, range(*part), PRIOR, SCORER, TARGETS["2 red things"])
    return [sum(t.is_hit(d.evaluation.log_probs) for d in draws) for t in TARGETS.values()]


@dataclass(frozen=True)
class Row:
    """One kernel on one target."""

    target: str
    move: str
    hits: int
    runs: int
    median_renders: float

    @property
    def interval(self) -> Interval:
        return clopper_pearson(self.hits, self.runs)


def rows(runs: int, budget: int, pool: ProcessPoolExecutor) -> list[Row]:
    """Every kernel on every target."""
    pairs = [(target, move) for target in TARGETS for move in MOVES]
    jobs = [Job(target, move, run, budget) for target, move in pairs for run in range(runs)]
    found = list(pool.map(first_hit, jobs, chunksize=4))
    parts = [found[i : i + runs] for i in range(0, len(found), runs)]
    return [
        Row(t, m, sum(map(math.isfinite, part)), runs, median(part))
        for (t, m), part in zip(pairs, parts, strict=True)
    ]


def masses(n: int, pool: ProcessPoolExecutor) -> dict[str, tuple[int, int]]:
    """Each target's hits among n prior draws."""
    parts = [(i, min(i + 100, n)) for i in range(0, n, 100)]
    hits = np.sum(list(pool.map(prior_hits, parts)), axis=0)
    return {target: (int(k), n) for target, k in zip(TARGETS, hits, strict=True)}


def p_value(target: str, found: Sequence[Row]) -> float:
    """Fisher's exact test, one-sided: the block kernel hits more often."""
    block, walk = (
        next(r for r in found if (r.target, r.move) == (target, move)) for move in ("block", "random walk")
    )
    table = [[block.hits, block.runs - block.hits], [walk.hits, walk.runs - walk.hits]]
    return float(fisher_exact(table, alternative="greater").pvalue)


def prior_words(hits: int, n: int) -> str:
    """Prior mass of a target in words."""
    if hits == 0:
        return f"< {no_hit_bound(n):.1e}"
    low, high = clopper_pearson(hits, n)
    return f"{hits / n:.1e} ({low:.1e} to {high:.1e})"


def page(found: Sequence[Row], mass: dict[str, tuple[int, int]], runs: int, budget: int) -> str:
    """The table as Markdown."""
    lines = [
        "# Kernels at equal budget on the fake world",
        "",
        f"`python -m benchmarks.kernel_comparison --runs {runs} --budget {budget} --write`",
        "",
        f"{runs} chains a kernel, each from one random scene of 5 objects without red, {budget} renders each,",
        "against the fake model (which counts red area). Share of chains that reach the level set, 95 % intervals;",
        "p: one-sided Fisher.",
        "",
        "| target | prior mass | random walk (paper) | median renders | block moves | median renders | p |",
        "|---|---|---|---|---|---|---|",
    ]
    for target in TARGETS:
        walk, block = (
            next(r for r in found if (r.target, r.move) == (target, m)) for m in ("random walk", "block")
        )
        cells = [target, prior_words(*mass[target]), *_cells(walk, budget), *_cells(block, budget)]
        lines.append("| " + " | ".join(cells) + f" | {p_value(target, found):.1e} |")
    return "\n".join(lines) + "\n"


def _cells(row: Row, budget: int) -> tuple[str, str]:
    low, high = row.interval
    middle = f"{row.median_renders:.0f}" if math.isfinite(row.median_renders) else f"> {budget}"
    return f"{row.hits}/{row.runs} ({low:.0%} to {high:.0%})", middle


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--budget", type=int, default=300, help="renders a chain")
    parser.add_argument(
        "--prior", type=int, default=4_000, help="prior draws that measure how rare each target is"
    )
    parser.add_argument("--write", action="store_true", help="renew benchmarks/KERNELS.md")
    given = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        mass = masses(given.prior, pool)
        found = rows(given.runs, given.budget, pool)
    for row in found:
        name = f"kernel.hit_share.{row.move}.{row.target}".replace(" ", "_")
        print(json.dumps({"name": name, "value": row.hits / row.runs, "unit": "share"}))
    for target in TARGETS:
        print(
            json.dumps(
                {"name": f"kernel.p.{target}".replace(" ", "_"), "value": p_value(target, found), "unit": "p"}
            )
        )
    if given.write:
        path = Path(__file__).with_name("KERNELS.md")
        path.write_text(page(found, mass, given.runs, given.budget))
        print(json.dumps({"name": "kernel.table", "value": str(path), "unit": "path"}))


if __name__ == "__main__":
    main()
