"""The Metropolis-Hastings kernel, in log space, with at most one render per step (Hastings 1970).

A point outside the prior's support is rejected without a render, and the old state repeats: re-drawing until a valid
point comes would make the actual proposal density q / Z(z), with an unknown Z(z).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.scoring import Scored, Scorer
from trex.inference.types import Evaluation, Info, Prior, Proposal, State, Target, Z


@dataclass(frozen=True)
class Candidate(Generic[Z]):
    """A proposed point; `log_q_ratio` is log q(given | to) - log q(to | given), not computed outside the support."""

    z: Z
    log_prior: float
    log_q_ratio: float

    @property
    def is_possible(self) -> bool:
        """Whether the point lies in the prior's support, and therefore needs a render."""
        return self.log_prior > -math.inf


@dataclass(frozen=True)
class Metropolis(Generic[Z]):
    """Leaves prior(z) * exp(power * log_weight(z)) invariant; `power` below 1 tempers.

    `propose` and `decide` are the two halves of `step`: for many chains, one batch between them renders all
    candidates.
    """

    prior: Prior[Z]
    proposal: Proposal[Z]
    scorer: Scorer[Z]
    target: Target
    power: float = 1.0

    def init(self, z: Z) -> State[Z]:
        """The state at z; InputError if z lies outside the prior's support."""
        log_prior = self.prior.log_density(z)
        if log_prior == -math.inf:
            raise InputError(
                f"a chain cannot start at {z!r}, which the prior excludes; start from a prior draw"
            )
        (scored,) = self.scorer.score([z])
        return State(z, self.weigh(log_prior, scored))

    def propose(self, rng: np.random.Generator, state: State[Z]) -> Candidate[Z]:
        """One proposal, with everything that needs no render."""
        to = self.proposal.propose(rng, state.z)
        log_prior = self.prior.log_density(to)
        if log_prior == -math.inf:
            return Candidate(to, log_prior, math.nan)
        forth, back = self.proposal.log_q(to, state.z), self.proposal.log_q(state.z, to)
        assert forth > -math.inf, f"{self.proposal!r} proposed a point that its log_q says it cannot"
        return Candidate(to, log_prior, back - forth)

    def evaluate(self, candidates: Sequence[Candidate[Z]]) -> list[Evaluation | None]:
        """The evaluation of each candidate, all in one render batch; None for candidates outside the support."""
        possible = [candidate for candidate in candidates if candidate.is_possible]
        scored = iter(self.scorer.score([candidate.z for candidate in possible]))
        return [self.weigh(c.log_prior, next(scored)) if c.is_possible else None for c in candidates]

    def decide(
        self,
        rng: np.random.Generator,
        state: State[Z],
        candidate: Candidate[Z],
        evaluation: Evaluation | None,
    ) -> tuple[State[Z], Info[Z]]:
        """Accept the candidate or repeat the state."""
        if evaluation is None:
            return state, Info(candidate.z, None, False, -math.inf, False)
        ratio = self.log_accept_ratio(state, candidate, evaluation)
        is_accepted = math.log1p(-rng.random()) < ratio  # the log of a number in (0, 1]; NaN rejects
        info = Info(candidate.z, evaluation, is_accepted, ratio, True)
        return (State(candidate.z, evaluation) if is_accepted else state), info

    def log_accept_ratio(self, state: State[Z], candidate: Candidate[Z], evaluation: Evaluation) -> float:
        """The log of the Metropolis-Hastings ratio, positive if the ratio exceeds 1."""
        old = state.evaluation
        gain = self.power * (evaluation.log_weight - old.log_weight)
        return evaluation.log_prior - old.log_prior + gain + candidate.log_q_ratio

    def step(self, rng: np.random.Generator, state: State[Z]) -> tuple[State[Z], Info[Z]]:
        """Propose once, render if the prior allows it, accept or repeat."""
        candidate = self.propose(rng, state)
        (evaluation,) = self.evaluate([candidate])
        return self.decide(rng, state, candidate, evaluation)

    def step_many(
        self, rngs: Sequence[np.random.Generator], states: Sequence[State[Z]]
    ) -> list[tuple[State[Z], Info[Z]]]:
        """One step of every chain with one render batch; the same draws as `step` for each chain with its own rng."""
        candidates = [self.propose(rng, state) for rng, state in zip(rngs, states, strict=True)]
        evaluations = self.evaluate(candidates)
        quads = zip(rngs, states, candidates, evaluations, strict=True)
        return [self.decide(rng, state, candidate, evaluation) for rng, state, candidate, evaluation in quads]

    def weigh(self, log_prior: float, scored: Scored) -> Evaluation:
        """The evaluation of a point whose picture has been scored."""
        return Evaluation(
            log_prior, self.target.log_weight(scored.log_probs), scored.log_probs, scored.picture
        )
