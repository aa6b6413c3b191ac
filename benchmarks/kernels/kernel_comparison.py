"""At equal budget on the fake world: how often does each kernel reach a rare level set from one random scene?

    python -m benchmarks.kernels.kernel_comparison [--runs 40] [--budget 300] [--write]

Prints one JSON object a line; --write also renews benchmarks/kernels/KERNELS.md. The budget counts renders, the start
included; a scene that the prior does not allow is rejected and costs none, for both kernels alike.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from scipy.stats import fisher_exact

from trex.clevr_models.fake import ColorArea
from trex.inference.metropolis import Metropolis
from trex.inference.rng import stream
from trex.inference.scoring import Scorer
from trex.inference.statistics.importance import prior_draws
from trex.inference.statistics.proportion import Interval, clopper_pearson
from trex.inference.targets import GaussianTarget, high_confidence, k_way, threshold
from trex.render.fake import FakeRenderer
from trex.scenes.moves.block_moves import SceneMove, block_moves
from trex.scenes.moves.random_walk import RandomWalk
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR

SEED = 2_021
KERNELS = ("random walk", "block")
MAX_STEPS_PER_RENDER = 100
NOTE = (
    "Neither kernel is better everywhere. Block moves win where several of many objects have to be right",
    "together, since they keep what is right (third row). The random walk wins where the amount of red has to be",
    "tuned (second row): it moves all places and lights at every render. Where 300 renders hardly ever suffice,",
    "the two cannot be told apart.",
)


@dataclass(frozen=True)
class World:
    """Scenes of n objects without red, a fake model that counts red area, and what it should say."""

    n_objects: int
    width: float  # of the fake model's count, in things: how gradually its confidence rises
    make_target: Callable[[tuple[str, ...]], GaussianTarget]

    @property
    def prior(self) -> ScenePrior:
        return ScenePrior(CLEVR.revoke("red"), (self.n_objects, self.n_objects))

    @property
    def model(self) -> ColorArea:
        return ColorArea(color="red", width=self.width)

    @property
    def scorer(self) -> Scorer[Scene]:
        return Scorer(FakeRenderer(60, 40), self.model)

    @property
    def target(self) -> GaussianTarget:
        return self.make_target(self.model.labels)

    def move(self, kernel: str) -> SceneMove:
        return block_moves(self.prior) if kernel == "block" else RandomWalk(self.prior.vocabulary)


WORLDS = {
    "5 objects, sure of 2 red things": World(5, 0.25, partial(high_confidence, answer="2")),
    "5 objects, torn between 1 and 2": World(5, 0.25, partial(k_way, answers=("1", "2"))),
    "8 objects, at least .4 for 3 red things": World(8, 0.6, partial(threshold, answer="3", delta=0.6)),
    "8 objects, at least .4 for 4 red things": World(8, 0.6, partial(threshold, answer="4", delta=0.6)),
}


@dataclass(frozen=True)
class Job:
    """One chain."""

    world: str
    kernel: str
    run: int
    budget: int


def first_hit(job: Job) -> float:
    """The render at which the chain first saw the level set, inf where it did not within the budget."""
    rng = stream(SEED, job.run)  # the same start for every kernel
    world = WORLDS[job.world]
    target = world.target
    kernel = Metropolis(world.prior, world.move(job.kernel), world.scorer, target)
    state, renders = kernel.init(world.prior.sample(rng)), 1
    if target.is_hit(state.log_probs):
        return 1
    for _ in range(job.budget * MAX_STEPS_PER_RENDER):
        (draw,) = kernel.step([rng], [state])
        state, proposed = draw.state, draw.proposed
        renders += draw.was_rendered
        if proposed and proposed.is_scored and target.is_hit(proposed.log_probs):
            return renders
        if renders >= job.budget:
            break
    return math.inf


def prior_hits(part: tuple[str, int, int]) -> int:
    """How many of these prior draws hit the world's target."""
    name, first, end = part
    world = WORLDS[name]
    draws = prior_draws(SEED, range(first, end), world.prior, world.scorer, world.target)
    return sum(world.target.is_hit(draw.state.log_probs) for draw in draws)


@dataclass(frozen=True)
class Row:
    """One kernel on one target."""

    world: str
    kernel: str
    hits: int
    runs: int
    median_renders: float

    @property
    def interval(self) -> Interval:
        return clopper_pearson(self.hits, self.runs)


def rows(runs: int, budget: int, pool: ProcessPoolExecutor) -> list[Row]:
    """Every kernel in every world."""
    pairs = [(world, kernel) for world in WORLDS for kernel in KERNELS]
    jobs = [Job(world, kernel, run, budget) for world, kernel in pairs for run in range(runs)]
    found = list(pool.map(first_hit, jobs, chunksize=4))
    parts = [found[i : i + runs] for i in range(0, len(found), runs)]
    return [
        Row(world, kernel, sum(map(math.isfinite, part)), runs, median(part))
        for (world, kernel), part in zip(pairs, parts, strict=True)
    ]


def masses(n: int, pool: ProcessPoolExecutor) -> dict[str, tuple[int, int]]:
    """Each world's hits among n prior draws."""
    parts = [(world, i, min(i + 100, n)) for world in WORLDS for i in range(0, n, 100)]
    hits = list(pool.map(prior_hits, parts))
    return {w: (sum(k for k, part in zip(hits, parts, strict=True) if part[0] == w), n) for w in WORLDS}


def of(found: Sequence[Row], world: str, kernel: str) -> Row:
    """The row of a kernel in a world."""
    return next(row for row in found if (row.world, row.kernel) == (world, kernel))


def p_value(world: str, found: Sequence[Row]) -> float:
    """Fisher's exact test, one-sided: the block kernel hits more often."""
    block, walk = of(found, world, "block"), of(found, world, "random walk")
    table = [[block.hits, block.runs - block.hits], [walk.hits, walk.runs - walk.hits]]
    return float(fisher_exact(table, alternative="greater").pvalue)


def prior_words(hits: int, n: int) -> str:
    """Prior mass of a target in words."""
    low, high = clopper_pearson(hits, n)
    if hits == 0:
        return f"< {high:.1e}"
    return f"{hits / n:.1e} ({low:.1e} to {high:.1e})"


def page(found: Sequence[Row], mass: dict[str, tuple[int, int]], runs: int, budget: int) -> str:
    """The table as Markdown."""
    lines = [
        "# Kernels at equal budget on the fake world",
        "",
        f"`python -m benchmarks.kernels.kernel_comparison --runs {runs} --budget {budget} --write`",
        "",
        f"{runs} chains a kernel, each from one random scene without red, {budget} renders each, against the fake",
        "model (which counts red area). Share of chains that reach the level set, 95% intervals; p: one-sided Fisher.",
        "",
        "| world and target | prior mass | random walk (paper) | median renders | block moves | median renders | p |",
        "|---|---|---|---|---|---|---|",
    ]
    for world in WORLDS:
        walk, block = of(found, world, "random walk"), of(found, world, "block")
        cells = [world, prior_words(*mass[world]), *_cells(walk, budget), *_cells(block, budget)]
        lines.append("| " + " | ".join(cells) + f" | {p_value(world, found):.1e} |")
    return "\n".join([*lines, "", *NOTE]) + "\n"


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
    parser.add_argument("--write", action="store_true", help="renew benchmarks/kernels/KERNELS.md")
    given = parser.parse_args()
    with ProcessPoolExecutor() as pool:
        mass = masses(given.prior, pool)
        found = rows(given.runs, given.budget, pool)
    for row in found:
        name = f"kernel.hit_share.{row.kernel}.{row.world}".replace(" ", "_")
        print(json.dumps({"name": name, "value": row.hits / row.runs, "unit": "share"}))
    for world in WORLDS:
        name = f"kernel.p.{world}".replace(" ", "_")
        print(json.dumps({"name": name, "value": p_value(world, found), "unit": "p"}))
    if given.write:
        path = Path(__file__).with_name("KERNELS.md")
        _, mark, text = path.read_text().partition("\n## ")  # of benchmarks.kernels.surrogate_simulation
        path.write_text(page(found, mass, given.runs, given.budget) + mark + text)
        print(json.dumps({"name": "kernel.table", "value": str(path), "unit": "path"}))


if __name__ == "__main__":
    main()
