"""NUTS as a search runs it: rounds like any sampler's, its checkpoint in the random state of each record."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trex.inference.chains import Checkpoint
from trex.inference.nuts.options import NutsOptions
from trex.inference.targets import GaussianTarget
from trex.inference.types import Draw, Renderer
from trex.query.schema import SearchSection
from trex.worlds.kernels import SamplerKind
from trex.worlds.latents import Latent

if TYPE_CHECKING:  # importing torch takes seconds
    from torch import Tensor

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
    ) -> Iterator[Checkpoint[Latent]]:
        """Yields rounds from the checkpoint up to index n_rounds - 1."""
        from trex.inference.nuts.sampler import Density, lane_of, nuts_rounds

        density = Density(self.log_probs, target, lane=lane_of(self.chains))
        for done in nuts_rounds(density, self.options, begin, n_rounds):
            draws = tuple(self._with_picture(draw) for draw in done.draws)
            yield replace(done, states=tuple(draw.state for draw in draws), draws=draws)

    def _with_picture(self, draw: Draw[Latent]) -> Draw[Latent]:
        (picture,) = self.renderer.render([draw.z])
        state = replace(draw.state, picture=picture)
        return replace(draw, state=state, proposed=state)


def nuts_options(search: SearchSection) -> NutsOptions:
    """The options of NUTS for a search; InputError if its warmup has too few steps."""
    path = min(MAX_PATH, search.n_warmup // PATH_SHARE)
    return NutsOptions(warmup=search.n_warmup, path=path, max_depth=search.max_depth)


def _make(world: OpenWorld, search: SearchSection) -> NutsSampler:
    assert world.differentiable is not None, "the plan was checked"
    return NutsSampler(world.differentiable, world.renderer, nuts_options(search), search.chains)


def _check(search: SearchSection) -> None:
    nuts_options(search)


SAMPLER = SamplerKind("nuts", ("vector",), _make, _check, needs_gradients=True, warmup_share=WARMUP_SHARE)
