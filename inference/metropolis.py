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
from trex.inference.types import Draw, Prior, Proposal, State, Target, Z, unscored


@dataclass(frozen=True)
class Candidate(Generic[Z]):
    """A proposed point, with everything that needs no render.

    Parameters
    ----------
    z : latent
        The point.
    log_prior : float
        The prior's natural log density there; -inf outside its support, where nothing is rendered.
    log_q_ratio : float
        Log q of the way back minus log q of the way there; 0 for a symmetric move, NaN outside the support.

    Examples
    --------
    >>> import numpy as np
    >>> from trex.inference.metropolis import Candidate
    >>> Candidate(np.zeros(2), log_prior=-1.8, log_q_ratio=0.0).is_possible
    True
    """

    z: Z
    log_prior: float
    log_q_ratio: float

    @property
    def is_possible(self) -> bool:
        """Whether the point lies in the prior's support, and therefore needs a render."""
        return self.log_prior > -math.inf


@dataclass(frozen=True)
class Metropolis(Generic[Z]):
    """Leaves prior(z) * exp(power * log_weight(z)) invariant.

    `propose`, `score` and `decide` are the parts of a step: one batch between the other two renders all candidates.
    A sampler of your own gets the query's kernel from `world.kernel(target)`, and may change it.

    Parameters
    ----------
    prior : Prior
        The distribution of the latents.
    proposal : Proposal
        The move. It must give the density of its way back too.
    scorer : Scorer
        Renders latents and asks the model: `world.scorer`.
    target : GaussianTarget
        The level set; its `log_weight` is the likelihood.
    power : float, default 1.0
        Exponent of the likelihood, 0 to 1: below 1 it is flattened, at 0 the prior alone is left. Example: power=0.5.

    Examples
    --------
    The same kernel with larger steps, in the `make` of a sampler::

        kernel = dataclasses.replace(world.kernel(target), proposal=GaussianWalk(1.0))
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
        return self.weigh(z, log_prior, scored)

    def propose(self, rng: np.random.Generator, state: State[Z]) -> Candidate[Z]:
        """One proposal, with everything that needs no render.

        Parameters
        ----------
        rng : numpy.random.Generator
            The chain's own. Example: np.random.default_rng(0).
        state : State
            Where the chain is. Example: draw.state.
        """
        to = self.proposal.propose(rng, state.z)
        log_prior = self.prior.log_density(to)
        if log_prior == -math.inf:
            return Candidate(to, log_prior, math.nan)
        forth, back = self.proposal.log_q(to, state.z), self.proposal.log_q(state.z, to)
        assert forth > -math.inf, f"{self.proposal!r} proposed a point that its log_q says it cannot"
        return Candidate(to, log_prior, back - forth)

    def score(self, candidates: Sequence[Candidate[Z]]) -> list[State[Z]]:
        """Each candidate as a state, all rendered in one batch; those outside the support are not rendered.

        Parameters
        ----------
        candidates : sequence of Candidate
            Proposed points, of any chains. Example: [kernel.propose(rng, state)].
        """
        possible = [candidate for candidate in candidates if candidate.is_possible]
        scored = iter(self.scorer.score([candidate.z for candidate in possible]))
        return [
            self.weigh(c.z, c.log_prior, next(scored)) if c.is_possible else unscored(c.z) for c in candidates
        ]

    def decide(
        self, rng: np.random.Generator, state: State[Z], candidate: Candidate[Z], proposed: State[Z]
    ) -> Draw[Z]:
        """Accept the candidate, scored as `proposed`, or repeat the state.

        Parameters
        ----------
        rng : numpy.random.Generator
            The chain's own. Example: np.random.default_rng(0).
        state : State
            Where the chain is. Example: draw.state.
        candidate : Candidate
            What `propose` gave. Example: kernel.propose(rng, state).
        proposed : State
            What `score` gave for it. Example: kernel.score([candidate])[0].
        """
        if not proposed.is_scored:
            return Draw(state, False, proposed, -math.inf, was_rendered=False)
        ratio = self.log_accept_ratio(state, proposed, candidate.log_q_ratio)
        is_accepted = math.log1p(-rng.random()) < ratio  # the log of a number in (0, 1]; NaN rejects
        return Draw(proposed if is_accepted else state, is_accepted, proposed, ratio)

    def log_accept_ratio(self, old: State[Z], new: State[Z], log_q_ratio: float) -> float:
        """The log of the Metropolis-Hastings ratio, positive if the ratio exceeds 1."""
        gain = self.power * (new.log_weight - old.log_weight)
        return new.log_prior - old.log_prior + gain + log_q_ratio

    def step(self, rngs: Sequence[np.random.Generator], states: Sequence[State[Z]]) -> list[Draw[Z]]:
        """Each chain proposes once, all that the prior allows are rendered in one batch, each accepts or repeats.

        Parameters
        ----------
        rngs : sequence of numpy.random.Generator
            One for each chain. Example: [np.random.default_rng(0)].
        states : sequence of State
            Where each chain is. Example: [draw.state for draw in before].
        """
        candidates = [self.propose(rng, state) for rng, state in zip(rngs, states, strict=True)]
        quads = zip(rngs, states, candidates, self.score(candidates), strict=True)
        return [self.decide(rng, state, candidate, proposed) for rng, state, candidate, proposed in quads]

    def weigh(self, z: Z, log_prior: float, scored: Scored) -> State[Z]:
        """The state of a latent whose picture has been scored."""
        return State(z, log_prior, self.target.log_weight(scored.log_probs), scored.log_probs, scored.picture)
