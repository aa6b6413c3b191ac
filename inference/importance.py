"""The prior batch that every search starts with: how often the level set happens, and whether it is common."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from foundation.errors import InputError
from inference.rng import PRIOR_STREAM, stream
from inference.scoring import Scorer
from inference.types import PRIOR_CHAIN, Draw, Evaluation, Floats, Prior, Target, Z

NORMAL_95 = 1.959963984540054  # the .975 quantile of the standard normal
MAX_RELATIVE_ERROR = 0.5  # above it there is no point value


class Interval(NamedTuple):
    """A 95 % interval unless said otherwise."""

    low: float
    high: float


def prior_draw(seed: int, index: int, prior: Prior[Z]) -> tuple[Z, float]:
    """The index-th draw of the prior and its log density: a function of (seed, index) alone, so any order resumes."""
    z = prior.sample(stream(seed, PRIOR_STREAM, index))
    log_prior = prior.log_density(z)
    assert log_prior > -math.inf, f"{prior!r} sampled a point outside its own support: {z!r}"
    return z, log_prior


def prior_draws(
    seed: int, indices: Sequence[int], prior: Prior[Z], scorer: Scorer[Z], target: Target
) -> list[Draw[Z]]:
    """These draws of the prior, scored in one render batch and weighed."""
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
    """The same draws, `batch` at a time; whatever the batch, the draws are the same."""
    for i in range(0, len(indices), batch):
        yield prior_draws(seed, indices[i : i + batch], prior, scorer, target)


def reweigh(draws: Sequence[Draw[Z]], target: Target) -> list[Draw[Z]]:
    """The same prior draws weighed for another target; nothing is rendered."""
    weights = [target.log_weight(draw.evaluation.log_probs) for draw in draws]
    return [
        d._replace(evaluation=d.evaluation._replace(log_weight=w))
        for d, w in zip(draws, weights, strict=True)
    ]


def clopper_pearson(hits: int, n: int, level: float = 0.95) -> Interval:
    """The exact interval of a rate after `hits` of n (Clopper and Pearson 1934); (0, 1) for n = 0."""
    if not 0 <= hits <= n:
        raise InputError(f"{hits} hits of {n} draws is impossible")
    tail = (1.0 - level) / 2.0
    low = float(beta.ppf(tail, hits, n - hits + 1)) if hits > 0 else 0.0
    high = float(beta.ppf(1.0 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return Interval(low, high)


def no_hit_bound(n: int) -> float:
    """3/n: a rate above it would have shown itself in n independent prior draws with 95 % (rule of three)."""
    return min(1.0, 3.0 / n) if n > 0 else 1.0


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
    """n indices by systematic resampling: index i comes up floor or ceil of n * weight_i times."""
    edges = np.cumsum(normalized_weights(log_weights))
    places = (rng.random() + np.arange(n)) / n
    picked = np.searchsorted(edges, places, side="right")
    return [int(i) for i in np.minimum(picked, log_weights.size - 1)]


@dataclass(frozen=True)
class Rule:
    """When a target counts as common, so that the weighted prior draws are the answer and no chain is run."""

    min_rate: float = 0.01
    min_hits: int = 10

    def is_common(self, hits: int, n: int) -> bool:
        """Whether both bounds are reached."""
        return hits >= self.min_hits and hits >= self.min_rate * n


@dataclass(frozen=True)
class HowOften:
    """What n independent prior draws say of the level set.

    `hits` counts draws within the target's tolerance; `mass` is the mean weight relative to its peak, the prior mass of
    the relaxed level set; its interval is None where its relative standard error exceeds .5: no point value then.
    """

    n: int
    hits: int
    rate: float
    rate_interval: Interval
    mass: float
    mass_error: float  # relative standard error
    mass_interval: Interval | None
    ess: float
    best: float  # best confidence
    is_common: bool

    def sentences(self) -> tuple[str, ...]:
        """For the report."""
        return tuple(part for part in (self._rate_words(), self._mass_words(), self._verdict()) if part)

    def _rate_words(self) -> str:
        if self.hits == 0:
            return (
                f"None of {self.n} prior draws hit the level set: it happens in less than {no_hit_bound(self.n):.2g} "
                f"of all prior draws (95 %). Best confidence among them: {self.best:.3g}."
            )
        low, high = self.rate_interval
        share = f"{self.rate:.2g} (95 %: {low:.2g} to {high:.2g})"
        return f"{self.hits} of {self.n} prior draws hit the level set: {share}."

    def _mass_words(self) -> str:
        if self.mass_interval is None:
            return f"The weights vary too much for a point value (relative standard error {self.mass_error:.2g} > .5)."
        low, high = self.mass_interval
        return f"Prior mass of the relaxed level set: {self.mass:.2g} (95 %: {low:.2g} to {high:.2g})."

    def _verdict(self) -> str:
        if self.is_common:
            return f"It is common: the weighted prior draws (effective size {self.ess:.0f}) are the answer."
        return "It is rare: chains search for it."


def how_often(draws: Sequence[Draw[Z]], target: Target, rule: Rule = Rule()) -> HowOften:
    """The summary of a prior batch; chain draws must not be among them."""
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
        mass_interval=mass_interval(mass, error),
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


def mass_interval(mass: float, error: float) -> Interval | None:
    """95 % on the log scale, asymptotic; None where the relative standard error exceeds .5."""
    if not error <= MAX_RELATIVE_ERROR:
        return None
    factor = math.exp(NORMAL_95 * error)
    return Interval(mass / factor, min(1.0, mass * factor))
