"""Kernel "random_walk": the paper's proposal for scenes, which changes everything at once."""

from __future__ import annotations

from trex.foundation.errors import InputError
from trex.inference.types import Prior, Proposal
from trex.query.schema import Query, SearchSection
from trex.scenes.moves.random_walk import RandomWalk
from trex.worlds.kernels import ProposalKind, scene_prior
from trex.worlds.latents import Latent


def _make(prior: Prior[Latent], search: SearchSection) -> Proposal[Latent]:
    return RandomWalk(scene_prior(prior).vocabulary)


def _check(query: Query) -> None:
    low, high = query.scene.objects
    if low < high:
        raise InputError(
            "search.kernel = 'random_walk' never changes the number of objects, so with scene.objects = "
            f"[{low}, {high}] each chain would keep its first number; use 'block' or one number of objects"
        )


PROPOSAL = ProposalKind("random_walk", "scene", _make, check=_check)
