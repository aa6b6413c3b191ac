"""Kernel "gaussian", the default for decoders: a Gaussian random walk of vectors."""

from __future__ import annotations

from trex.inference.gaussian_walk import GaussianWalk
from trex.inference.types import Prior, Proposal
from trex.query.schema import SearchSection
from trex.worlds.kernels import ProposalKind
from trex.worlds.latents import Latent


def _make(prior: Prior[Latent], search: SearchSection) -> Proposal[Latent]:
    return GaussianWalk(search.scale)


PROPOSAL = ProposalKind("gaussian", "vector", _make)
