"""The prior batch that starts every search: how often the level set occurs, and whether it is common."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.percent import percent
from trex.inference.rng import PRIOR_STREAM, stream
from trex.inference.scoring import Scorer
from trex.inference.statistics.proportion import Interval, Proportion, clopper_pearson
from trex.inference.types import PRIOR_CHAIN, Draw, Evaluation, Floats, Prior, Target, Z

NORMAL_95 = 1.959963984540054  # the .975 quantile of the standard normal


def prior_draw(seed: int, index: int, prior: Prior[Z]) -> tuple[Z, float]:
    """The index-th draw of the prior and its log density: a function of (seed, index) alone, so any order resumes."""
    z = prior.sample(stream(seed, PRIOR_STREAM, index))
    log_prior = prior.log_density(z)
    assert log_prior > -math.inf, f"{prior!r} sampled a point outside its own support: {z!r}"
    return z, log_prior


def prior_draws(
    seed: int, indices: Sequence[int], prior: Prior[Z], scorer: Scorer[Z], target: Target
) -> list[Draw[Z]]:
    """These prior draws, scored in one render batch and weighed."""
    points = [prior_draw(seed, index, prior) for index in indices]
    scored = scorer.score([z for z, _ in points])
    rows = zip(indices, points, scored, strict=True)
    return [
        Draw(
            PRIOR_CHAIN,
            i,
            z,
            Evaluation(p, target.log_weight(s.log_probs), s.log_probs, s.picture),
            True,
            False,
        )
        for i, (z, p), s in rows
    ]


def prior_batches(
    seed: int, indices: range, batch: int, prior: Prior[Z], scorer: Scorer[Z], target: Target
) -> Iterator[list[Draw[Z]]]:
    """The same draws, `batch` at a time; they do not depend on the batch size."""
    for i in range(0, len(indices), batch):
        yield prior_draws(seed, indices[i : i + batch], prior, scorer, target)


def reweigh(draws: Sequence[Draw[Z]], target: Target) -> list[Draw[Z]]:
    """The same prior draws weighed for another target; renders nothing."""
    weights = [target.log_weight(draw.evaluation.log_probs) for draw in draws]
    return [
        d._replace(evaluation=d.evaluation._replace(log_weight=w))
        for d, w in zip(draws, weights, strict=True)
    ]


def normalized_weights(log_weights: Floats) -> Floats:
    """(n,) -> (n,) weights that sum to 1."""
    if log_weights.size == 0 or not np.max(log_weights) > -math.inf:
        raise InputError("no draw has any weight at all; take a larger width or more prior draws")
    raw = np.exp(log_weights - np.max(log_weights))
    weights: Floats = raw / raw.sum()
    return weights


def effective_size(log_weights: Floats) -> float:
    """Kish's effective sample size, (sum w)^2 / sum w^2, from 1 to n."""
    weights = normalized_weights(log_weights)
    return float(1.0 / np.dot(weights, weights))


def resample(rng: np.random.Generator, log_weights: Floats, n: int) -> list[int]:
    """n indices by systematic resampling: index i appears floor or ceil of n * weight_i times."""
    edges = np.cumsum(normalized_weights(log_weights))
    places = (rng.random() + np.arange(n)) / n
    picked = np.searchsorted(edges, places, side="right")
    return [int(i) for i in np.minimum(picked, log_weights.size - 1)]


@dataclass(frozen=True)
class Rule:
    """When a target counts as common, so that weighted prior draws suffice and no chain is run."""

    min_rate: float = 0.01
    min_hits: int = 10

    def is_common(self, hits: int, n: int) -> bool:
        """Whether both bounds are met."""
        return hits >= self.min_hits and hits >= self.min_rate * n


@dataclass(frozen=True)
class HowOften:
    """What n independent prior draws show about the level set.

    `hits` counts draws within the target's tolerance; `mass` is the mean weight relative to its peak, the prior
    mass of the relaxed level set.
    """

    n: int
    hits: int
    rate: float
    rate_interval: Interval
    mass: float
    mass_error: float  # relative standard error
    mass_interval: Interval
    ess: float
    best: float  # best confidence
    is_common: bool

    @property
    def said(self) -> Proportion:
        """The rate of hits; every report of it takes its words from here."""
        return Proportion(self.hits, self.n)

    @property
    def says_mass(self) -> bool:
        """Whether to report the mass: only beside a point value of the rate, so that no number contradicts another."""
        return self.said.point is not None

    def sentences(self) -> tuple[str, ...]:
        """The rate and the mass in sentences, for the report."""
        return tuple(part for part in (self._rate_words(), self._mass_words(), self._verdict()) if part)

    def _rate_words(self) -> str:
        said = self.said
        if said.point is not None:
            return (
                f"{self.hits} of {self.n} prior draws hit the level set: {said.figure} (95 %: {said.range})."
            )
        if self.hits:
            return f"{self.hits} of {self.n} prior draws hit the level set: {said.range} (95 %)."
        return (
            f"None of {self.n} prior draws hit the level set: it happens in less than {said.ceiling} "
            f"of all prior draws (95 %). Best confidence among them: {percent(self.best)}."
        )

    def _mass_words(self) -> str:
        if self.said.point is None:
            return (
                f"{self.hits or 'No'} {'hit' if self.hits == 1 else 'hits'} of {self.n} give no point value."
            )
        low, high = (percent(end) for end in self.mass_interval)
        return f"Prior mass of the relaxed level set: {percent(self.mass)} (95 %: {low} to {high})."

    def _verdict(self) -> str:
        if self.is_common:
            return f"It is common: the weighted prior draws (effective size {self.ess:.0f}) are the answer."
        return "It is rare: chains search for it."


def how_often(draws: Sequence[Draw[Z]], target: Target, rule: Rule = Rule()) -> HowOften:
    """Summarize a prior batch; draws of chains must not be among them."""
    if not draws:
        raise InputError("how often a target happens needs at least one prior draw")
    if any(draw.chain != PRIOR_CHAIN for draw in draws):
        raise InputError("only prior draws tell how often a target happens; chain states go where it happens")
    log_weights = np.array([draw.evaluation.log_weight for draw in draws])
    hits = sum(target.is_hit(draw.evaluation.log_probs) for draw in draws)
    mass, error = mean_weight(log_weights - target.log_peak)
    return HowOften(
        n=len(draws),
        hits=hits,
        rate=hits / len(draws),
        rate_interval=clopper_pearson(hits, len(draws)),
        mass=mass,
        mass_error=error,
        mass_interval=mass_interval(mass, len(draws)),
        ess=effective_size(log_weights),
        best=max(target.confidence(draw.evaluation.log_probs) for draw in draws),
        is_common=rule.is_common(hits, len(draws)),
    )


def mean_weight(log_relative: Floats) -> tuple[float, float]:
    """(mean, relative standard error) of exp(log_relative), without underflow in the error."""
    top = float(np.max(log_relative))
    scaled = np.exp(log_relative - top)  # in [0, 1], one of them 1
    mean, n = float(scaled.mean()), scaled.size
    spread = float(scaled.std(ddof=1)) / math.sqrt(n) / mean if n > 1 else math.inf
    return mean * math.exp(top), spread


def mass_interval(mass: float, n: int) -> Interval:
    """The 95 % interval of a mass that is the mean of n relative weights: Clopper and Pearson's, for n * mass hits.

    It always exists. Before, it was normal on the log scale, and covered between 0 and 95 %: without a hit the
    weights are all alike, and their spread shows none of the weight that was missed.
    """
    return clopper_pearson(min(float(n), n * mass), n)
