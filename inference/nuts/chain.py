"""The course of one chain: a log-space path into the level set, Pyro's warmup there, then draws.

Where softmax saturates, a target on probabilities is flat: its gradient is 0, and a chain that starts there drifts
in the prior. On the path the target is applied to softmax(logits / T) instead, which has a gradient wherever the
logits have one; T falls from a value at which the start is not saturated to 1, the paper's target. This only
anneals the start: path and warmup are both marked as warmup, warmup runs at T = 1, and the draws come from a
separate kernel that adapts nothing and has never run at another T.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from trex.inference.coroutines import Ask
from trex.inference.nuts.checkpoint import ChainPoint
from trex.inference.nuts.density import Evaluated, Point
from trex.inference.nuts.kernel import Evaluate, NutsKernel, adapting, tuned
from trex.inference.nuts.options import ACCEPT, NutsOptions
from trex.inference.rng import load_rng, save_rng
from trex.inference.tempering import top_temperature
from trex.inference.types import Draw, Floats


class ChainDraw(NamedTuple):
    """One draw, and the point from which the chain continues."""

    draw: Draw[Floats]
    after: ChainPoint


def run_chain(
    ask: Ask[Point | ChainDraw, Evaluated | None], at: ChainPoint, span: range, options: NutsOptions
) -> None:
    """Make the draws of these indices and pass each to `ask`, which also answers requests for the density."""

    def evaluate(point: Point) -> Evaluated:
        found = ask(point)
        assert found is not None
        return found

    if at.tuning is None:
        for draw in _warmup(at, options, evaluate):
            if draw.draw.index in span:
                ask(draw)
            if draw.draw.index >= span.stop - 1:
                return
            at = draw.after
    for draw in _draws(at, range(max(span.start, options.warmup), span.stop), options, evaluate):
        ask(draw)


def _warmup(at: ChainPoint, options: NutsOptions, evaluate: Evaluate) -> Iterator[ChainDraw]:
    rng = load_rng(at.rng)
    z = at.z
    for draw in _path(at, rng, options, evaluate):
        z = draw.z
        yield ChainDraw(draw, at)
    _seed_torch(rng)
    kernel = adapting(z, evaluate, options.warmup - options.path, options)
    for index in range(options.path, options.warmup):
        draw = _step(kernel, rng, index, options)
        is_last = index == options.warmup - 1
        yield ChainDraw(draw, ChainPoint(draw.z, save_rng(rng), kernel.tuning) if is_last else at)


def _path(
    at: ChainPoint, rng: np.random.Generator, options: NutsOptions, evaluate: Evaluate
) -> Iterator[Draw[Floats]]:
    if not options.path:
        return
    top = top_temperature([evaluate(Point(at.z)).state.log_probs])
    _seed_torch(rng)
    kernel = adapting(at.z, evaluate, options.path, options, top)
    for index in range(options.path):
        kernel.heat(temperature(top, index, options.path))
        yield _step(kernel, rng, index, options)


def _draws(at: ChainPoint, span: range, options: NutsOptions, evaluate: Evaluate) -> Iterator[ChainDraw]:
    assert at.tuning is not None
    rng = load_rng(at.rng)
    kernel = tuned(at.tuning, at.z, evaluate, options)
    for index in span:
        draw = _step(kernel, rng, index, options)
        yield ChainDraw(draw, ChainPoint(draw.z, save_rng(rng), at.tuning))


def temperature(top: float, index: int, n: int) -> float:
    """The temperature of step `index` of n: falls geometrically, to exactly 1 at the last step."""
    return float(top ** (1.0 - (index + 1) / n))


def _step(kernel: NutsKernel, rng: np.random.Generator, index: int, options: NutsOptions) -> Draw[Floats]:
    """A trajectory proposes nothing in particular: what it ends at is the state."""
    before = kernel.z
    _seed_torch(rng)
    figures = kernel.step()
    state, accept_prob = kernel.state, figures[ACCEPT]
    return Draw(
        state,
        is_accepted=not np.array_equal(state.z, before),
        proposed=state,
        log_accept_ratio=math.log(accept_prob) if accept_prob > 0.0 else -math.inf,
        figures=figures,
        index=index,
        is_warmup=index < options.warmup,
    )


def _seed_torch(rng: np.random.Generator) -> None:
    """Seed torch for each draw, so that a checkpoint needs to keep only the chain's small numpy state.

    torch uses 32 bits of a seed.
    """
    torch.default_generator.manual_seed(int(rng.integers(1 << 32)))
