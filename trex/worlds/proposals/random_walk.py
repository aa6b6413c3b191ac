"""Kernel "random_walk": the paper's proposal for scenes, which changes everything at once."""

from __future__ import annotations

from typing import cast

from trex.inference.types import Prior, Proposal
from trex.query.schema import SearchSection
from trex.scenes.moves.random_walk import RandomWalk
from trex.scenes.prior import ScenePrior
from trex.worlds.kernels import ProposalKind
from trex.worlds.latents import Latent


def _make(prior: Prior[Latent], search: SearchSection) -> Proposal[Latent]:
    return cast(Proposal[Latent], RandomWalk(cast(ScenePrior, prior).vocabulary))


PROPOSAL = ProposalKind("random_walk", "scene", _make)
