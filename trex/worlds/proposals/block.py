"""Kernel "block", the default for scenes: moves objects and nuisances in blocks."""

from __future__ import annotations

from typing import cast

from trex.inference.types import Prior, Proposal
from trex.query.schema import SearchSection
from trex.scenes.moves.block_moves import block_moves
from trex.scenes.prior import ScenePrior
from trex.worlds.kernels import ProposalKind
from trex.worlds.latents import Latent


def _make(prior: Prior[Latent], search: SearchSection) -> Proposal[Latent]:
    return cast(Proposal[Latent], block_moves(cast(ScenePrior, prior)))


PROPOSAL = ProposalKind("block", "scene", _make)
