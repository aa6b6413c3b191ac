"""Kernel "random_walk": the paper's proposal for scenes, which changes everything at once."""

from __future__ import annotations

from trex.inference.types import Prior, Proposal
from trex.query.schema import SearchSection
from trex.scenes.moves.random_walk import RandomWalk
from trex.worlds.kernels import ProposalKind, scene_prior
from trex.worlds.latents import Latent, any_proposal


def _make(prior: Prior[Latent], search: SearchSection) -> Proposal[Latent]:
    return any_proposal(RandomWalk(scene_prior(prior).vocabulary))


PROPOSAL = ProposalKind("random_walk", "scene", _make)
