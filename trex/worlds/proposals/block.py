"""Kernel "block", the default for scenes: moves objects and nuisances in blocks."""

from __future__ import annotations

from trex.inference.types import Prior, Proposal
from trex.query.schema import SearchSection
from trex.scenes.moves.block_moves import block_moves
from trex.worlds.kernels import ProposalKind, scene_prior
from trex.worlds.latents import Latent


def _make(prior: Prior[Latent], search: SearchSection) -> Proposal[Latent]:
    return block_moves(scene_prior(prior))


PROPOSAL = ProposalKind("block", "scene", _make)
