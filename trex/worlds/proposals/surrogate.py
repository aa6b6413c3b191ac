"""Kernel "surrogate", the default for scenes with a bank: block moves, many at a cheap look before one that counts.

The cheap look is the one that the run's calibration chose; without one, the moves are those of kernel "block".
"""

from __future__ import annotations

from trex.inference.types import Prior, Proposal
from trex.query.schema import SearchSection
from trex.scenes.moves.block_moves import block_moves
from trex.worlds.kernels import SURROGATE, ProposalKind, scene_prior
from trex.worlds.latents import Latent


def _make(prior: Prior[Latent], search: SearchSection) -> Proposal[Latent]:
    return block_moves(scene_prior(prior))


PROPOSAL = ProposalKind(SURROGATE, "scene", _make)
