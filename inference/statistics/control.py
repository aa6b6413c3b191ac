"""The positive control: the same search on easier level sets whose prior mass is known from the prior sample.

A search without hits means something only if the same search reaches a level set that exists sooner than prior draws
would. That it hits at all proves nothing: so does a kernel that ignores the classifier, given enough renders.

The null hypothesis: every render takes the chain into the set as a fresh prior draw would, with probability p, the
mass of the set. A chain then hits within its first t renders with probability 1 - (1 - p)^t, and the number of such
chains is binomial. For a kernel that ignores the classifier this holds because of two choices. Its chains start at
prior draws outside the set, as the prior has them: from there, a reversible chain that leaves the prior invariant
reaches the set no sooner than fresh draws do, but for a factor 1 - p. (Its first step enters with a probability of at
most p / (1 - p), and chains that have not hit slow down, if the kernel has no negative eigenvalues: Aldous and Brown
1992, "Inequalities for rare events in time-reversible Markov chains".) And a hit is a state of the chain, not a
proposal: proposals are wider than the prior, and in its tails they hit sooner than prior draws. The
mass is known from the prior sample alone, as Beta(k + 1, n - k) for k of n draws inside: the radius is an order
statistic, and this distribution, whose quantiles are Clopper and Pearson's upper ends, lies above that of the mass
(with ties too). Averaged over it, the chance of a false pass is at most 5%, over sample and chains together. For a
weighted sample the counts are the effective ones of `weighted`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic

import numpy as np

from trex.foundation.words import percent, percent_span
from trex.inference.statistics.importance import reweigh
from trex.inference.statistics.two_phase import Estimate, Selection, estimate
from trex.inference.statistics.weighted import upper_counts
from trex.inference.targets.distance_target import distance, distance_target
from trex.inference.targets.gaussian import GaussianTarget
from trex.inference.types import Draw, Floats, Z

MASSES = (1e-2, 1e-3)
LEVEL = 0.05  # the largest chance that prior draws pass a level
SHARE = 0.75  # of the chains have to hit; a stuck one of four is no failure of the search
KNOWN = 10.0  # a mass is known if its interval ends at most this many times above it
POINTS = 500  # quantiles that stand for the mass's distribution
ROUNDING = 1e-9
MAX_WINDOW = 1 << 24


@dataclass(frozen=True)
class Control(Generic[Z]):
    """An easier target of the same kind, its known mass, and prior draws outside it to start from.

    It is passed if `needed` of `chains` chains hit within their first `window` renders each.
    """

    target: GaussianTarget
    mass: Estimate
    counts: tuple[float, float]  # the two parameters of the Beta distribution above the mass
    outside: tuple[Draw[Z], ...]
    weights: Floats  # (n,): the number of prior draws that each of `outside` stands for
    chains: int

    @property
    def needed(self) -> int:
        """The number of chains that have to hit in time."""
        return math.ceil(SHARE * self.chains)

    @cached_property
    def window(self) -> int:
        """The most renders a chain at which prior draws pass with a chance of at most 5%; 0 if there is none."""
        low, high = 0, 1
        while high < MAX_WINDOW and self.chance(self.needed, high) <= LEVEL:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.chance(self.needed, middle) <= LEVEL else (low, middle)
        return low

    def chance(self, hit: int, renders: int) -> float:
        """The chance that at least `hit` chains of prior draws hit within so many renders each."""
        from scipy.stats import binom

        within = -np.expm1(renders * np.log1p(-self._masses))
        return float(np.mean(binom.sf(hit - 1, self.chains, within)))

    @cached_property
    def _masses(self) -> Floats:
        from scipy.stats import beta

        quantiles: Floats = beta.ppf((np.arange(POINTS) + 0.5) / POINTS, *self.counts)
        return np.minimum(quantiles, 1.0 - ROUNDING)


@dataclass(frozen=True)
class Attempt:
    """What the chains have done so far: the renders of each up to its first hit, None without one, and in all."""

    control: Control[object]
    first_hits: tuple[int | None, ...]
    renders: tuple[int, ...]

    @property
    def n_hit(self) -> int:
        """The number of chains that hit within the window."""
        return sum(first is not None and first <= self.control.window for first in self.first_hits)

    @property
    def is_passed(self) -> bool:
        """Whether enough chains hit in time."""
        return self.n_hit >= self.control.needed

    @property
    def is_decided(self) -> bool:
        """Whether further renders change nothing: enough chains hit, or too few still can."""
        pairs = zip(self.first_hits, self.renders, strict=True)
        is_open = sum(first is None and n < self.control.window for first, n in pairs)
        return self.is_passed or self.n_hit + is_open < self.control.needed

    def sentence(self) -> str:
        """The outcome with its numbers."""
        easier, mass = self.control, self.control.mass
        interval = percent_span(*mass.interval)
        chance = easier.chance(easier.needed, easier.window)
        return (
            f"on a level set of prior mass {percent(mass.value)} (95% CI {interval}), {self.n_hit} of "
            f"{easier.chains} chains, started outside it, hit within {easier.window} renders each ({easier.needed} are "
            f"needed, which prior draws reach with a chance of {percent(chance)})"
        )


def attempt(easier: Control[Z], hits: Sequence[Sequence[bool]]) -> Attempt:
    """The attempt so far; `hits` tells, for each chain, whether its state after each render was in the set."""
    first = tuple(next((k for k, hit in enumerate(row, start=1) if hit), None) for row in hits)
    return Attempt(easier, first, tuple(len(row) for row in hits))  # type: ignore[arg-type]


def controls(
    draws: Sequence[Draw[Z]], selection: Selection, target: GaussianTarget, chains: int
) -> tuple[Control[Z], ...]:
    """The ladder of controls that the prior sample allows, easiest first; empty if it shows too little.

    `draws` are in the order of the selection's members. A level is the largest set within a distance of the target
    whose estimated mass is at most 1e-2, or 1e-3. It is left out if the mass is not known within a factor of ten, if
    too few draws lie outside to start the chains from, or if nothing the chains could do would show a difference.
    """
    found = [_control(draws, selection, target, chains, mass) for mass in MASSES]
    levels = [control for control in found if control is not None]
    return tuple(
        level
        for k, level in enumerate(levels)
        if k == 0 or level.mass.value <= 0.5 * levels[k - 1].mass.value
    )


def _control(
    draws: Sequence[Draw[Z]], selection: Selection, target: GaussianTarget, chains: int, mass: float
) -> Control[Z] | None:
    distances = np.array([float(distance(target, np.exp(draw.state.log_probs))) for draw in draws])
    radius = _radius(distances, selection.weights, mass * selection.n)
    if radius is None:
        return None
    easier = distance_target(target, radius)
    inside = np.array([float(easier.is_hit(draw.state.log_probs)) for draw in draws])
    is_out = inside == 0.0
    outside = tuple(draw for draw, out in zip(reweigh(draws, easier), is_out, strict=True) if out)
    counts = upper_counts(inside, selection.weights, selection.n, selection.heaviest)
    control = Control(easier, estimate(selection, inside), counts, outside, selection.weights[is_out], chains)
    is_known = control.mass.interval.high <= KNOWN * control.mass.value
    return control if is_known and len(outside) >= chains and control.window else None


def _radius(distances: Floats, weights: Floats, most: float) -> float | None:
    """The largest distance within which the weights sum to at most `most`; None if even the nearest weigh more."""
    order = np.argsort(distances, kind="stable")
    there = distances[order]
    sums = np.cumsum(weights[order])[
        np.searchsorted(there, there + ROUNDING, side="right") - 1
    ]  # ties together
    fits = there[sums <= most * (1.0 + ROUNDING)]
    return float(fits[-1]) if fits.size else None


def control_words(attempts: Sequence[Attempt]) -> str:
    """The outcome of the whole ladder: passed only if every level is (each has 5%, so that all together have)."""
    levels = "; ".join(attempt.sentence() for attempt in attempts)
    if all(attempt.is_passed for attempt in attempts):
        end = "It finds what is there clearly sooner than chance would"
    else:
        end = (
            "That is not clearly sooner than chance, so finding nothing says no more than the prior draws do"
        )
    return f"Positive control, the same search on easier targets: {levels}. {end}."
