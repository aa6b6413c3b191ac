"""Pyro's NUTS for latents that are float arrays, several chains at once.

Pyro steps one chain per process, one gradient at a time. Here every chain is Pyro's own kernel, unchanged, in a
thread that runs only in its turn; the gradients that the chains wait for are computed in one batch. Chains are
independent: each adapts alone, has its own random numbers, and makes the same draws, bit for bit, whatever other
chains run beside it.

Usage, with `decoder` and `classifier` from `trex.mnist_models.load`:

    density = Density(lambda z: classifier.differentiable_log_probs(decoder.pixels(z.float())), target)
    checkpoint = start(seed, starts(seed, prior_draws, n_chains))            # both of trex.inference.chains
    for done in nuts_rounds(density, NutsOptions(warmup=300, path=60), checkpoint, n_rounds=800):
        done.draws                                                           # keep the last `done` to resume from it

`n_rounds` includes warmup. A draw's score is the density's own: of pictures before rounding to bytes, and without the
picture. Its figures tell its trajectory, with the cost in gradients (each one forward and one backward pass).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pyro
import torch

from trex.inference.chains import Checkpoint
from trex.inference.coroutines import Coroutines
from trex.inference.nuts.chain import ChainDraw, run_chain
from trex.inference.nuts.checkpoint import chain_points, plain_point
from trex.inference.nuts.density import Density, Evaluated, Point, lane_of, standard_normal
from trex.inference.nuts.options import NutsOptions
from trex.inference.types import Floats

__all__ = ["Density", "NutsOptions", "lane_of", "nuts_rounds", "standard_normal"]
AHEAD = 4  # draws that a chain of short trajectories may be ahead, so that fewer lanes run half empty


def nuts_rounds(
    density: Density, options: NutsOptions, checkpoint: Checkpoint[Floats], n_rounds: int
) -> Iterator[Checkpoint[Floats]]:
    """Yield rounds up to index n_rounds - 1; between rounds torch and Pyro are in the caller's state."""
    span = range(checkpoint.next_index, n_rounds)
    chains = [
        _Chain(Coroutines(partial(run_chain, at=point, span=span, options=options)))
        for point in chain_points(checkpoint)
    ]
    try:
        for index in span:
            with undisturbed():
                found = _next_draws(density, chains)
            draws = tuple(replace(draw.draw, chain=chain) for chain, draw in enumerate(found))
            rng_states = tuple(plain_point(draw.after) for draw in found)
            yield Checkpoint(tuple(draw.state for draw in draws), rng_states, index + 1, draws)
    finally:
        for chain in chains:
            chain.close()


def _next_draws(density: Density, chains: list[_Chain]) -> list[ChainDraw]:
    while not all(chain.draws for chain in chains):
        for chain in chains:
            chain.collect()
        points = {c: chain.waiting for c, chain in enumerate(chains) if isinstance(chain.waiting, Point)}
        for c, answer in density.evaluate(points).items():
            chains[c].resume(answer)
    return [chain.draws.popleft() for chain in chains]


class _Chain:
    """A chain in its thread, with its random state of torch, and its draws that no round has taken yet."""

    def __init__(self, turns: Coroutines[Point | ChainDraw, Evaluated | None]) -> None:
        self._turns = turns
        self._torch_state: torch.Tensor | None = None
        self.draws: deque[ChainDraw] = deque()
        self.waiting: Point | ChainDraw | None = None

    def collect(self) -> None:
        """Take the draw that it offers, if any, and let it continue unless it is far ahead."""
        if self._torch_state is None:
            self._run(self._turns.start)
        while isinstance(self.waiting, ChainDraw) and len(self.draws) < AHEAD:
            self.draws.append(self.waiting)
            self.resume(None)

    def resume(self, answer: Evaluated | None) -> None:
        """Answer it and let it run."""
        self._run(partial(self._turns.resume, answer))

    def close(self) -> None:
        """End its thread."""
        self._turns.close()

    def _run(self, turn: Callable[[], Point | ChainDraw | None]) -> None:
        if self._torch_state is not None:
            torch.set_rng_state(self._torch_state)
        self.waiting = turn()
        self._torch_state = torch.get_rng_state()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Inside: gradients on, Pyro's checks off (a global switch). Restores both afterwards."""
    torch_state = torch.get_rng_state()
    checks = torch.distributions.Distribution._validate_args
    try:
        with torch.inference_mode(False), torch.enable_grad(), pyro.validation_enabled(False):
            yield
    finally:
        torch.distributions.Distribution.set_default_validate_args(checks)
        torch.set_rng_state(torch_state)
