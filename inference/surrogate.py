"""Metropolis-Hastings with surrogate transitions: many steps at a cheap look, one correction at the deciding look.

One step runs `n_inner` Metropolis steps at the leading look, which leave prior * cheap invariant (cheap is the weight
at the leading look). Their end y is accepted from the start x with probability

    min(1, dear(y) cheap(x) / (dear(x) cheap(y))),

which leaves prior * dear invariant, whatever the leading look says (Liu 2001, Monte Carlo Strategies in Scientific
Computing, 9.4.3; with one inner step, Christen and Fox 2005). The cheap score should be a function of the latent alone:
a chain then resumes bit for bit, though only the deciding look's score is stored. Each score of a step is computed
once and carried to the correction; to score an end anew there, with other noise, would be wrong.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.metropolis import Candidate, Metropolis
from trex.inference.types import Draw, State, Z, unscored

N_INNER = 16  # steps at the leading look between corrections; benchmarks/kernels/KERNELS.md
MAX_REMEMBERED = 1024  # cheap scores; a step needs one per chain


@dataclass
class Remembered:
    """States at the leading look by latent, without pictures; the oldest are dropped."""

    known: OrderedDict[Hashable, State[Any]] = field(default_factory=OrderedDict)

    def get(self, z: Z) -> State[Z] | None:
        """The state at z, if it is known."""
        return self.known.get(latent_key(z))

    def keep(self, states: Iterable[State[Z]]) -> None:
        """Remember these states."""
        for state in states:
            key = latent_key(state.z)
            self.known[key] = replace(state, picture=None)
            self.known.move_to_end(key)
        while len(self.known) > MAX_REMEMBERED:
            self.known.popitem(last=False)


@dataclass
class Trail(Generic[Z]):
    """The inner steps of one chain: start and end at the leading look, and the counts."""

    start: State[Z]
    end: State[Z]
    n_renders: int = 0
    n_accepted: int = 0

    @property
    def is_moved(self) -> bool:
        """Whether the end differs from the start; if not, there is nothing to decide."""
        return latent_key(self.end.z) != latent_key(self.start.z)

    def follow(self, draw: Draw[Z]) -> None:
        """One more inner step."""
        self.end = draw.state
        self.n_renders += draw.was_rendered
        self.n_accepted += draw.is_accepted


@dataclass(frozen=True)
class Surrogate(Generic[Z]):
    """Leaves the posterior of `deciding` invariant; steps like `Metropolis`, and resumes from the same checkpoint.

    `leading` is Metropolis at the cheap look with the same prior, usually with a `LeadingTarget`; `deciding` gives
    scorer, target and power of the correction, and its proposal is not used. A step renders at the deciding look once
    or, if the inner steps end where they began, never. The figures count the inner steps: `inner_renders` leaves
    out the score of the current state, which is rendered again only after a resume.
    """

    deciding: Metropolis[Z]
    leading: Metropolis[Z]
    n_inner: int = N_INNER
    remembered: Remembered = field(default_factory=Remembered, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.n_inner < 1:
            raise InputError(f"{self.n_inner} inner steps: use at least 1")

    def init(self, z: Z) -> State[Z]:
        """The state at z, scored at the deciding look; InputError if z lies outside the prior's support."""
        return self.deciding.init(z)

    def step(self, rngs: Sequence[np.random.Generator], states: Sequence[State[Z]]) -> list[Draw[Z]]:
        """The inner steps of every chain, a batch at the leading look each; then all ends are decided in one batch."""
        trails = self.lead(rngs, states)
        candidates = [self.candidate(trail) for trail in trails if trail.is_moved]
        decisions = iter(zip(candidates, self.deciding.score(candidates), strict=True))
        draws = []
        for rng, state, trail in zip(rngs, states, trails, strict=True):
            if trail.is_moved:
                draw = self.deciding.decide(rng, state, *next(decisions))
            else:
                draw = Draw(state, False, unscored(state.z), -math.inf, was_rendered=False)
            draws.append(replace(draw, figures=self._figures(trail)))
        self.remembered.keep(
            trail.end if draw.is_accepted else trail.start for trail, draw in zip(trails, draws, strict=True)
        )
        return draws

    def lead(self, rngs: Sequence[np.random.Generator], states: Sequence[State[Z]]) -> list[Trail[Z]]:
        """The inner steps of every chain, at the leading look."""
        trails = [Trail(start, start) for start in self._at_leading_look(states)]
        for _ in range(self.n_inner):
            draws = self.leading.step(rngs, [trail.end for trail in trails])
            for trail, draw in zip(trails, draws, strict=True):
                trail.follow(draw)
        return trails

    def candidate(self, trail: Trail[Z]) -> Candidate[Z]:
        """The end as a proposal of the deciding look.

        Its log_q_ratio needs no density of the inner steps: they are reversible, so that
        q(y | x) / q(x | y) = prior(y) cheap(y) / (prior(x) cheap(x)), the inner ratio without its proposal.
        """
        gain = self.leading.log_accept_ratio(trail.start, trail.end, 0.0)
        return Candidate(trail.end.z, trail.end.log_prior, -gain)

    def _at_leading_look(self, states: Sequence[State[Z]]) -> list[State[Z]]:
        known = [self.remembered.get(state.z) for state in states]
        pairs = list(zip(states, known, strict=True))
        scored = iter(self.leading.scorer.score([state.z for state, found in pairs if found is None]))
        return [found or self.leading.weigh(s.z, s.log_prior, next(scored)) for s, found in pairs]

    def _figures(self, trail: Trail[Z]) -> dict[str, float]:
        return {
            "inner_steps": self.n_inner,
            "inner_renders": trail.n_renders,
            "inner_accepted": trail.n_accepted,
            "is_moved": float(trail.is_moved),
        }


def latent_key(z: object) -> Hashable:
    """Equal for equal latents: an array by its bits, anything else, such as a scene, as it is."""
    if isinstance(z, np.ndarray):
        return z.shape, z.dtype.str, z.tobytes()
    assert isinstance(z, Hashable), f"a latent must be an array or hashable, not {type(z)}"
    return z
