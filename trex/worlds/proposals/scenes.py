"""Kernels for scenes: "block", the default, moves objects and nuisances in blocks; "random_walk" is the paper's.

"surrogate", the default with a bank, makes many block moves at a cheap look before one that counts. The cheap look is
the one that the run's calibration chose; without one, its moves are those of "block".
"""

from __future__ import annotations

from trex.foundation.errors import InputError
from trex.inference.types import Prior, Proposal
from trex.query.schema import Query, SearchSection
from trex.scenes.moves.block_moves import block_moves
from trex.scenes.moves.random_walk import RandomWalk
from trex.scenes.scene import Scene
from trex.worlds.kernels import SURROGATE, ProposalKind, scene_prior


def _block(prior: Prior[Scene], search: SearchSection) -> Proposal[Scene]:
    return block_moves(scene_prior(prior))


def _random_walk(prior: Prior[Scene], search: SearchSection) -> Proposal[Scene]:
    return RandomWalk(scene_prior(prior).vocabulary)


def _check_number(query: Query) -> None:
    low, high = query.scene.objects
    if low < high:
        raise InputError(
            "search.kernel = 'random_walk' never changes the number of objects, so with scene.objects = "
            f"[{low}, {high}] each chain would keep its first number; use 'block' or one number of objects"
        )


PROPOSAL = (
    ProposalKind("block", "scene", _block),
    ProposalKind("random_walk", "scene", _random_walk, check=_check_number),
    ProposalKind(SURROGATE, "scene", _block),
)
