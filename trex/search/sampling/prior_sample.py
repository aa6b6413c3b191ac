"""The prior scenes of a run at the deciding look, how they were chosen, and what they say of the whole prior.

Without a bank they are plain prior draws. With one, the bank's scenes are scored at the cheapest look, and a sample of
them, likely hits above all, is rendered at the deciding look with recorded probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trex.inference.statistics.budget import FURTHER_LEVEL, WANTED, further_draws, is_common
from trex.inference.statistics.how_often import HowOften, how_often
from trex.inference.statistics.two_phase import Selection, design, everyone
from trex.inference.targets import GaussianTarget
from trex.inference.types import Draw, Floats
from trex.query.schema import SearchSection
from trex.runs.record import BANK, PRIOR, Record
from trex.runs.replay import independent_draws_of
from trex.worlds.latents import Latent

LEVEL = 0.95
GROWTH = 4  # the larger of the two possible samples of a bank, in sizes of the first
SPARE = 1.25  # more hits than are wanted on average, since their number varies
BANK_LEVEL = 0.975  # of either sample's interval: whichever is reported, it covers with 95 % (union bound)


@dataclass(frozen=True)
class PriorSample:
    """Independent prior draws at the deciding look, and their selection from all that they stand for.

    `draws` are in the order of the selection's members.
    """

    draws: tuple[Draw[Latent], ...]
    selection: Selection
    how_often: HowOften

    @property
    def is_enough(self) -> bool:
        """Whether no chain is needed: the target is common and, with a bank, its draws stand for the level set."""
        is_all = len(self.draws) == self.selection.n
        return self.how_often.is_common and (is_all or self.how_often.ess >= WANTED)

    @property
    def counted(self) -> tuple[tuple[Draw[Latent], ...], Selection]:
        """The draws that the rate counts, with their selection: the further ones alone if a common target had some."""
        n = self.how_often.n
        return (self.draws, self.selection) if n == len(self.draws) else (self.draws[-n:], everyone(n))

    @property
    def log_weights(self) -> Floats:
        """(n,): log of weight / inclusion, for weighted resampling of the level set."""
        return self.selection.log_weights(log_weights(self.draws))

    @property
    def inclusion(self) -> Floats:
        """(n,): the probability with which each draw was chosen."""
        chosen: Floats = self.selection.inclusion[self.selection.members]
        return chosen


def log_weights(draws: Sequence[Draw[Latent]]) -> Floats:
    """(n,): the draws' log weights."""
    return np.array([draw.evaluation.log_weight for draw in draws], dtype=np.float64)


@dataclass(frozen=True)
class PriorPlan:
    """Which prior scenes a search renders at the deciding look: first some, then more if the target is common.

    `bank` holds the bank's draws at the cheapest look, all of them; it is empty for a search without one. `small`
    and `large` are the two possible samples of a bank; the large one holds all of the small one.
    """

    target: GaussianTarget
    options: SearchSection
    bank: tuple[Draw[Latent], ...]
    small: Selection = field(init=False)
    large: Selection = field(init=False)

    def __post_init__(self) -> None:
        options, budget = self.options, self._budget
        if not self.bank:
            object.__setattr__(self, "small", everyone(options.prior_scenes))
            object.__setattr__(self, "large", self.small)
            return
        most = min(len(self.bank), GROWTH * options.prior_scenes, options.prior_scenes + budget)
        scores = log_weights(self.bank)
        object.__setattr__(self, "small", design(options.seed, scores, options.prior_scenes))
        object.__setattr__(self, "large", design(options.seed, scores, most))

    @property
    def first(self) -> int:
        """The number of scenes that decide whether the target is common."""
        return int(self.small.members.size)

    @property
    def members(self) -> list[int]:
        """The bank's members by the index of their prior draw, those of the small sample first."""
        small = [int(member) for member in self.small.members]
        known = set(small)
        return small + [int(member) for member in self.large.members if int(member) not in known]

    def latents(self) -> Mapping[int, Latent] | None:
        """The latent of each index; None for plain prior draws."""
        if not self.bank:
            return None
        return {index: self.bank[member].z for index, member in enumerate(self.members)}

    def total(self, draws: Sequence[Draw[Latent]]) -> int:
        """The number of scenes in all, decided by the first ones: `first` unless the target is common."""
        said = self._first(draws).how_often
        if not said.is_common:
            return self.first
        if self.bank:
            return self.first if said.ess >= WANTED else len(self.members)
        rate = said.said.point
        return self.first if rate is None else self.first + further_draws(rate, self._hits(said))

    def sample(self, draws: Sequence[Draw[Latent]]) -> PriorSample:
        """What these prior draws, by index, say: all if they are all that was planned, else the first ones.

        If the first ones are not complete (a run that was stopped early), those that are there stand for themselves.
        """
        n = len(draws)
        if n < self.first:
            return self._summary(draws, self.small if self.bank else everyone(n))
        first, total = self._first(draws), self.total(draws)
        if n < total or total == self.first:
            return first
        if self.bank:
            return self._summary(draws, self.large)
        both = self._summary(draws[:total], everyone(total))
        further = how_often(
            draws[self.first : total], everyone(total - self.first), self.target, FURTHER_LEVEL
        )
        return PriorSample(both.draws, both.selection, further.decided(True, both.how_often.ess))

    def _first(self, draws: Sequence[Draw[Latent]]) -> PriorSample:
        return self._summary(draws[: self.first], self.small)

    def _summary(self, draws: Sequence[Draw[Latent]], selection: Selection) -> PriorSample:
        ordered = list(draws)
        if self.bank:
            place = {member: index for index, member in enumerate(self.members)}
            there = [member for member in selection.members.tolist() if place[member] < len(draws)]
            selection = Selection(np.array(there, dtype=np.intp), selection.inclusion)
            ordered = [draws[place[member]] for member in there]
        said = how_often(ordered, selection, self.target, BANK_LEVEL if self.bank else LEVEL)
        return PriorSample(tuple(ordered), selection, said.decided(self._is_common(said)))

    @property
    def _budget(self) -> int:
        options = self.options
        return options.chains * options.steps if options.further is None else options.further

    def _is_common(self, said: HowOften) -> bool:
        """Whether the wanted effective independent draws fit the budget of renders and, with one, the bank."""
        if not self.bank:
            return self._budget > 0 and is_common(said.said.point, self._budget, self._hits(said))
        if said.said.point is None or not self._budget:
            return False
        return said.n * WANTED / said.ess <= self.large.members.size

    def _hits(self, said: HowOften) -> float:
        """Hits for 25 effective draws, or for as many as the search is to find, by what one hit is worth."""
        effective = max(WANTED, self.options.stop_when_found)
        return SPARE * effective * max(1.0, said.hits / said.ess)


def prior_plan(records: Sequence[Record], target: GaussianTarget, options: SearchSection) -> PriorPlan:
    """The plan that a run's bank draws determine."""
    bank = independent_draws_of(records, BANK)
    return PriorPlan(target, options, tuple(bank))


def prior_sample(records: Sequence[Record], target: GaussianTarget, options: SearchSection) -> PriorSample:
    """What a run's prior draws say."""
    return prior_plan(records, target, options).sample(independent_draws_of(records, PRIOR))
