"""NUTS as a search runs it: rounds like any sampler's, its checkpoint in the random state of each record."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trex.inference.chains import Checkpoint, Round
from trex.inference.nuts.options import NutsOptions
from trex.inference.rng import RngState
from trex.inference.targets import GaussianTarget
from trex.inference.types import Draw, Evaluation, Info, Renderer, State
from trex.query.schema import SearchSection
from trex.worlds.kernels import SamplerKind
from trex.worlds.latents import Latent

if TYPE_CHECKING:  # importing torch takes seconds
    from torch import Tensor

    from trex.inference.nuts.sampler import NutsCheckpoint, NutsRound, Tree
    from trex.worlds.world import OpenWorld

WARMUP_SHARE = 0.5  # as in Stan: as many steps tune the step size and the mass matrix as draw
PATH_SHARE, MAX_PATH = 4, 60  # the path into the level set takes a quarter of the warmup, 60 steps at most


@dataclass(frozen=True)
class NutsSampler:
    """`log_probs` maps latents (B, d) to answers (B, K), differentiable; the prior is standard normal.

    `renderer` draws the pictures that the run keeps; NUTS weighs the pixels inside `log_probs`. `chains` is the
    query's number of chains, all of which a worker may not have.
    """

    log_probs: Callable[[Tensor], Tensor]
    renderer: Renderer[Latent]
    options: NutsOptions
    chains: int

    def __call__(
        self, target: GaussianTarget, begin: Checkpoint[Latent], n_rounds: int
    ) -> Iterator[Round[Latent]]:
        """Yields rounds from the checkpoint up to index n_rounds - 1."""
        from trex.inference.nuts.sampler import Density, lane_of, nuts_rounds

        density = Density(self.log_probs, target, lane=lane_of(self.chains))
        for done in nuts_rounds(density, self.options, _as_nuts(begin), n_rounds):
            yield self._round(done)

    def _round(self, done: NutsRound) -> Round[Latent]:
        from trex.inference.nuts.sampler import plain_checkpoint

        chains = plain_checkpoint(done.checkpoint)["chains"]
        assert isinstance(chains, list)
        evaluations = [self._with_picture(draw.z, draw.evaluation) for draw in done.draws]
        states = tuple(State[Latent](d.z, e) for d, e in zip(done.draws, evaluations, strict=True))
        draws = tuple(Draw[Latent](*d[:3], e, *d[4:]) for d, e in zip(done.draws, evaluations, strict=True))
        infos = tuple(_info(draw, tree) for draw, tree in zip(draws, done.trees, strict=True))
        return Round(draws, infos, Checkpoint(states, tuple(chains), done.checkpoint.next_index))

    def _with_picture(self, z: Latent, evaluation: Evaluation) -> Evaluation:
        (picture,) = self.renderer.render([z])
        return evaluation._replace(picture=picture)


def nuts_options(search: SearchSection) -> NutsOptions:
    """The options of NUTS for a search; InputError if its warmup has too few steps."""
    path = min(MAX_PATH, search.n_warmup // PATH_SHARE)
    return NutsOptions(warmup=search.n_warmup, path=path, max_depth=search.max_depth)


def _info(draw: Draw[Latent], tree: Tree) -> Info[Latent]:
    ratio = math.log(tree.accept_prob) if tree.accept_prob > 0.0 else -math.inf
    return Info(draw.z, draw.evaluation, draw.is_accepted, ratio, True, tree._asdict())


def _as_nuts(begin: Checkpoint[Latent]) -> NutsCheckpoint:
    """The checkpoint of NUTS; a chain that has not moved yet has only a state and random numbers."""
    from trex.inference.nuts.sampler import read_checkpoint

    pairs = zip(begin.states, begin.rng_states, strict=True)
    return read_checkpoint(
        {"next_index": begin.next_index, "chains": [_point(state, rng) for state, rng in pairs]}
    )


def _point(state: State[Latent], rng: RngState) -> dict[str, object]:
    if "rng" in rng:  # written by NUTS
        return dict(rng)
    return {"z": np.asarray(state.z).tolist(), "rng": dict(rng), "tuning": None}


def _make(world: OpenWorld, search: SearchSection) -> NutsSampler:
    assert world.differentiable is not None, "the plan was checked"
    return NutsSampler(world.differentiable, world.renderer, nuts_options(search), search.chains)


def _check(search: SearchSection) -> None:
    nuts_options(search)


SAMPLER = SamplerKind("nuts", ("vector",), _make, _check, needs_gradients=True, warmup_share=WARMUP_SHARE)
