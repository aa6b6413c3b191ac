"""A proposal of the user's own: a symmetric function, or an object with `propose` and `log_q`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.extensions import session_name
from trex.foundation.own_code import called, code_hash
from trex.inference.types import Proposal
from trex.worlds.kernels import ProposalKind, SamplerKind
from trex.worlds.latents import Latent, form_of

Move = Callable[[np.random.Generator, Latent], Latent]


@dataclass(frozen=True)
class OwnProposal:
    """A proposal whose points are checked; without `density`, which must cancel then, as likely one way as back."""

    move: Move
    density: Callable[[Latent, Latent], float] | None = None

    def propose(self, rng: np.random.Generator, z: Latent) -> Latent:
        """What the user's code gives, of the form of z; InputError for anything else."""
        with called("the proposal"):
            found = self.move(rng, _copied(z))
            vector = np.array(found, dtype=np.float64) if isinstance(z, np.ndarray) else None
        if vector is not None:
            if vector.shape != z.shape:
                raise InputError(
                    f"the proposal gives {vector.shape} for a latent {z.shape}; it must keep the shape"
                )
            if not np.isfinite(vector).all():
                raise InputError("the proposal gives numbers that are not finite")
            return vector
        if type(found) is not type(z):
            raise InputError(
                f"the proposal gives a {type(found).__name__} for {form_of(z)}; it must give a scene"
            )
        return found

    def log_q(self, to: Latent, given: Latent) -> float:
        """What the user's code gives, -inf for a move that it cannot make; 0 if both directions are equally likely."""
        if self.density is None:
            return 0.0
        with called("log_q of the proposal"):
            found = float(self.density(_copied(to), _copied(given)))
        if not found < math.inf:
            raise InputError(f"log_q of the proposal is {found}; it must be a number, or -inf")
        return found


def _copied(z: Latent) -> Latent:
    return z.copy() if isinstance(z, np.ndarray) else z


def proposal_kind(thing: object, name: str = "") -> ProposalKind | SamplerKind:
    """A proposal under the name that a query holds, by default "live:" and its own; InputError if it is none."""
    if isinstance(thing, ProposalKind | SamplerKind):
        return thing
    name = name or session_name(thing)
    if hasattr(thing, "propose") and hasattr(thing, "log_q") and not isinstance(thing, type):
        proposal: Proposal[Latent] = OwnProposal(thing.propose, thing.log_q)
    elif callable(thing) and not isinstance(thing, type):
        proposal = OwnProposal(thing)
    else:
        raise InputError(
            f"proposal is of type {type(thing).__name__}; give a function (rng, z) -> z that is symmetric, or an "
            "object with propose(rng, z) and log_q(to, given)"
        )
    return ProposalKind(name, None, lambda prior, search: proposal, code=code_hash(thing))
