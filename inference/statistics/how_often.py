"""How often a level set occurs in the prior: its rate and mass with intervals, and whether it is common."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.words import percent, percent_span
from trex.inference.statistics.importance import effective_size
from trex.inference.statistics.proportion import LEAST_HITS, Interval, Proportion, clopper_pearson
from trex.inference.statistics.two_phase import Estimate, Selection, estimate
from trex.inference.types import PRIOR_CHAIN, Draw, Floats, Target, Z


class Part(NamedTuple):
    """How many scenes of a part of a sample hit, of how many."""

    hits: int
    of: int


@dataclass(frozen=True, repr=False)
class SampledRate(Proportion):
    """The rate of hits by a sample: `of` scenes of a bank of `bank` were evaluated, and `count` of them hit.

    Its value is not `count / of`: hits are weighted by the scenes of the bank for which they stand. A sample may have
    two parts that overlap, the scenes that were chosen as `likely` and those `spread` evenly.
    """

    bank: int = field(kw_only=True)
    estimate: Estimate = field(kw_only=True)
    likely: Part | None = field(default=None, kw_only=True)
    spread: Part | None = field(default=None, kw_only=True)

    @property
    def value(self) -> float:
        return self.estimate.value

    @property
    def interval(self) -> Interval:
        """The estimate's interval, at the level of the estimate."""
        return self.estimate.interval

    @property
    def point(self) -> float | None:
        return self.estimate.point if self.count >= LEAST_HITS else None

    @property
    def counted(self) -> str:
        """ "7 hits among 64 checked of 1,000, weighted"; "7 of 64" if all that there were are counted."""
        if self.of == self.bank:
            return super().counted
        hits = f"{self.count or 'no'} {'hit' if self.count == 1 else 'hits'}"
        return f"{hits} among {self.of} checked of {self.bank:,}, weighted"


@dataclass(frozen=True)
class HowOften:
    """What independent prior draws at the deciding look show about the level set.

    `rate` is that of hits; `mass` the mean weight relative to its peak, the prior mass of the relaxed level set;
    `ess` the effective number of weighted draws, `best` the best confidence among them. `level` is that of the
    intervals, which is above .95 where a search may choose between two samples.
    """

    rate: Proportion
    mass: Estimate
    ess: float
    best: float
    is_common: bool = False
    level: float = 0.95

    @property
    def n(self) -> int:
        """The number of prior draws at the deciding look."""
        return self.rate.of

    @property
    def hits(self) -> int:
        """The number of hits among them."""
        return self.rate.count

    @property
    def rate_interval(self) -> Interval:
        """The interval of the rate."""
        return self.rate.interval

    @property
    def says_mass(self) -> bool:
        """Whether to report the mass: only beside a point value of the rate, so that no number contradicts another."""
        return self.rate.point is not None

    def decided(self, is_common: bool, every: HowOften | None = None) -> HowOften:
        """The same with a decision; with effective size and best confidence of all draws, if some do not count here."""
        whole = every or self
        return replace(self, is_common=is_common, ess=whole.ess, best=whole.best)

    def sentences(self) -> tuple[str, ...]:
        """The rate and the mass in sentences, for the report."""
        return tuple(part for part in (self._rate_words(), self._mass_words(), self._verdict()) if part)

    @property
    def drawn(self) -> str:
        """The prior draws that the rate counts, in words: "64 prior scenes chosen from a bank of 1,000"."""
        if isinstance(self.rate, SampledRate) and self.rate.bank > self.n:
            if spread := self.rate.spread:
                return f"{self.n} prior scenes of a bank of {self.rate.bank:,} ({spread.of} spread evenly)"
            return f"{self.n} prior scenes chosen from a bank of {self.rate.bank:,}"
        return f"{self.n} prior draws"

    def _rate_words(self) -> str:
        rate = self.rate
        if rate.point is not None:
            return f"{self.hits} of {self.drawn} hit the level set: {rate.figure} (95% CI {rate.range})."
        if self.hits:
            return f"{self.hits} of {self.drawn} hit the level set: {rate.range} (95% CI)."
        return (
            f"None of {self.drawn} hit the level set: it happens in less than {rate.ceiling} "
            f"of all prior draws (95%). Best confidence among them: {percent(self.best)}."
        )

    def _mass_words(self) -> str:
        if self.rate.point is None:
            hits = f"{self.hits} {'hit' if self.hits == 1 else 'hits'}"
            return f"With {hits} among {self.n}, only an {'interval' if self.hits else 'upper bound'} is reported."
        value, interval = percent(self.mass.value), percent_span(*self.mass.interval)
        return f"Prior mass of the relaxed level set: {value} (95% CI {interval})."

    def _verdict(self) -> str:
        if self.is_common:
            return f"It is common: the weighted prior draws (effective size {self.ess:.0f}) represent it."
        return "It is rare: chains search for it."


def rate_words(rate: Proportion, many: str, *, is_short: bool = False) -> str:
    """How many of a world's random scenes (`many`: their noun) that is, in words with what they rest on.

    The short form names the interval alone, "0.47% of random scenes (95% CI 0.19–0.96%)", where one interval says all.

    With a point value, "0.47% of random scenes (7 of 1,500; 95% CI 0.19–0.96%)"; otherwise what each part of a sample
    shows: hits among the likely scenes a lower end, scenes spread evenly an upper one.
    """
    counted, span = _with_commas(rate.counted), f"95% CI {percent_span(*rate.interval)}"
    likely, spread = (rate.likely, rate.spread) if isinstance(rate, SampledRate) else (None, None)
    if rate.point is not None:
        return f"{percent(rate.point)} of random {many} ({span if is_short else f'{counted}; {span}'})"
    if not rate.count:
        none = (
            f"none of {likely.of} likely ones or of {spread.of} spread evenly"
            if likely and spread
            else counted
        )
        return f"less than {rate.ceiling} of random {many} ({none}; 95%)"
    if spread and likely and not spread.hits:
        low, high = map(percent, rate.interval)
        if low.startswith("<"):  # says nothing
            likely_words = f"{likely.hits} of {likely.of} likely ones"
            return f"at most {high} of random {many} ({likely_words}, none of {spread.of} spread evenly; 95%)"
        return (
            f"at least {low} of random {many} (95%, from {likely.of} likely ones); of {spread.of} spread evenly none "
            f"does, so it is at most {high}"
        )
    return f"{percent_span(*rate.interval)} of random {many} (95% CI{'' if is_short else f'; {counted}'})"


def _with_commas(counted: str) -> str:
    return re.sub(r"\d{4,}", lambda number: f"{int(number.group()):,}", counted)


def how_often(
    draws: Sequence[Draw[Z]], selection: Selection, target: Target, level: float = 0.95
) -> HowOften:
    """Summarize prior draws, in the order of the selection's members; draws of chains must not be among them."""
    if not draws:
        raise InputError("a rate needs at least one prior draw")
    if any(draw.chain != PRIOR_CHAIN for draw in draws):
        raise InputError("only prior draws give a rate; chain states are drawn towards the target")
    hits = np.array([float(target.is_hit(draw.state.log_probs)) for draw in draws])
    relative = np.array([draw.state.log_weight for draw in draws]) - target.log_peak
    return HowOften(
        rate=rate_of(hits, selection, level),
        mass=estimate(selection, np.exp(np.minimum(relative, 0.0)), level),
        ess=effective_size(selection.log_weights(relative)),
        best=max(target.confidence(draw.state.log_probs) for draw in draws),
        level=level,
    )


def rate_of_seen(rate: Proportion) -> Proportion:
    """The rate of a kind that is told of because the sample showed it, with an interval that allows for that.

    Of many rare kinds a sample shows a few, each more often than it is. At the lower end, as many hits or more have a
    chance of 2.5% given that there is one (a binomial without its zero: Finney 1949, Annals of Eugenics 14, 319-328);
    after one hit it is 0. The lower end of a weighted sample shrinks by the factor of a counted one.
    """
    low, high = rate.interval
    shorter = Interval(low * _shrinks(rate.count, rate.of), high)
    if isinstance(rate, SampledRate):
        return replace(rate, estimate=replace(rate.estimate, interval=shorter))
    return replace(rate, given=shorter)


def _shrinks(count: int, n: int) -> float:
    """The lower end given one hit or more, by the lower end of Clopper and Pearson."""
    from scipy.optimize import brentq
    from scipy.stats import binom

    if count < 2:
        return 0.0
    if count == n:
        return 1.0
    plain = clopper_pearson(count, n).low

    def above(p: float) -> float:
        return float(binom.sf(count - 1, n, p) / -math.expm1(n * math.log1p(-p))) - 0.025

    return float(brentq(above, 1e-12, plain)) / plain if above(plain) > 0 else 1.0


def rate_of(hits: Floats, selection: Selection, level: float = 0.95) -> Proportion:
    """The rate of hits (k,), 0 or 1: counted if every draw stands for itself alone, at 95%; else estimated."""
    count, n = int(hits.sum()), hits.size
    if n == selection.n and level == 0.95:
        return Proportion(count, n)
    return SampledRate(count, n, bank=selection.n, estimate=estimate(selection, hits, level))
