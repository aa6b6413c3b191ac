"""The prior scenes of a run at the deciding look, how they were chosen, and what they say of the whole prior.

Without a bank they are plain prior draws. With one, the bank's scenes are scored at the cheapest look, and a sample of
them, likely hits above all, is rendered at the deciding look with recorded probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trex.inference.statistics.budget import FURTHER_LEVEL, WANTED, further_draws, is_common
from trex.inference.statistics.two_phase import Selection, design, everyone
from trex.inference.targets import GaussianTarget
from trex.inference.types import Draw, Floats
from trex.query.schema import SearchSection
from trex.runs.record import BANK, PRIOR, Record
from trex.runs.replay import independent_draws_of
from trex.search.how_often import HowOften, from_selection
from trex.worlds.latents import Latent

GROWTH = 4  # the larger of the two possible samples of a bank, in sizes of the first
BANK_LEVEL = 0.975  # of either sample's interval: whichever is reported, it covers with 95 % (union bound)


@dataclass(frozen=True)
class PriorSample:
    """Independent prior draws at the deciding look, by index, and their selection from all that they stand for."""

    draws: tuple[Draw[Latent], ...]
    selection: Selection
    how_often: HowOften

    @property
    def log_weights(self) -> Floats:
        """(n,): log of weight / inclusion, for weighted resampling of the level set."""
        return self.selection.log_weights(log_weights(self.draws))

    @property
    def inclusion(self) -> Floats:
        """(n,): the probability with which each draw was chosen."""
        return self.selection.inclusion[self.selection.members]


def log_weights(draws: Sequence[Draw[Latent]]) -> Floats:
    """(n,): the draws' log weights."""
    return np.array([draw.evaluation.log_weight for draw in draws])


@dataclass(frozen=True)
class PriorPlan:
    """Which prior scenes a search renders at the deciding look: first some, then more if the target is common.

    `bank` holds the bank's draws at the cheapest look, all of them; it is empty for a search without one.
    """

    target: GaussianTarget
    options: SearchSection
    bank: tuple[Draw[Latent], ...] = ()

    @property
    def first(self) -> int:
        """The number of scenes that decide whether the target is common."""
        return self._first.members.size if self.bank else self.options.prior_scenes

    def latents(self, grown: bool) -> Mapping[int, Latent] | None:
        """The latent of each index, the first ones before the others; None for plain prior draws."""
        if not self.bank:
            return None
        members = [*self._first.members]
        if grown:
            known = set(members)
            members += [member for member in self._grown.members if member not in known]
        return {index: self.bank[member].z for index, member in enumerate(members)}

    def total(self, draws: Sequence[Draw[Latent]]) -> int:
        """The number of scenes in all, decided by the first ones: `first` unless the target is common."""
        sample = self._sample(draws[: self.first], self._first if self.bank else everyone(self.first), False)
        if not sample.how_often.is_common:
            return self.first
        if self.bank:
            return self.first if sample.how_often.ess >= WANTED else len(self.latents(grown=True) or ())
        return self.first + further_draws(sample.how_often.rate)

    def sample(self, draws: Sequence[Draw[Latent]]) -> PriorSample:
        """What these prior draws say: all of them if they are all that were planned, else the first ones.

        If the first ones are not complete (a run that was stopped early), plain prior draws are taken as they are.
        """
        if len(draws) < self.first:
            return self._part(draws)
        total = self.total(draws)
        first = self._sample(draws[: self.first], self._first if self.bank else everyone(self.first), False)
        if len(draws) < total or total == self.first:
            return first
        if self.bank:
            return self._sample(draws[:total], self._grown, True)
        both = self._sample(draws[:total], everyone(total), True)
        further = from_selection(
            draws[self.first : total], everyone(total - self.first), self.target, FURTHER_LEVEL
        )
        return PriorSample(both.draws, both.selection, further.with_decision(True, both.how_often.ess))

    def _part(self, draws: Sequence[Draw[Latent]]) -> PriorSample:
        n = len(draws)
        if not self.bank:
            return self._sample(draws, everyone(n), False)
        selection = Selection(self._first.members[:n], self._first.inclusion)
        return self._sample(draws, selection, False)

    def _sample(self, draws: Sequence[Draw[Latent]], selection: Selection, grown: bool) -> PriorSample:
        ordered = self._in_order(draws, selection)
        how = from_selection(ordered, selection, self.target, BANK_LEVEL if self.bank else 0.95)
        return PriorSample(
            tuple(ordered), selection, how.with_decision(grown or self._is_common(how), how.ess)
        )

    def _in_order(self, draws: Sequence[Draw[Latent]], selection: Selection) -> list[Draw[Latent]]:
        """The draws in the order of the selection's members."""
        if not self.bank:
            return list(draws)
        known = set(self._first.members.tolist())
        grown = [member for member in selection.members.tolist() if member not in known]
        place = {member: index for index, member in enumerate([*self._first.members.tolist(), *grown])}
        return [draws[place[member]] for member in selection.members.tolist()]

    def _is_common(self, how: HowOften) -> bool:
        """Whether 25 effective independent draws fit the budget: of renders, and of the bank."""
        options = self.options
        budget = options.chains * options.steps
        if not self.bank:
            return is_common(how.said.point, budget)
        if how.said.point is None or how.ess <= 0.0:
            return False
        return self.first * WANTED / how.ess <= self._most

    @property
    def _most(self) -> int:
        options = self.options
        return min(
            len(self.bank),
            GROWTH * options.prior_scenes,
            options.prior_scenes + options.chains * options.steps,
        )

    @property
    def _first(self) -> Selection:
        return self._design(self.options.prior_scenes)

    @property
    def _grown(self) -> Selection:
        return self._design(self._most)

    def _design(self, n: int) -> Selection:
        return design(self.options.seed, log_weights(self.bank), n)


def prior_plan(records: Sequence[Record], target: GaussianTarget, options: SearchSection) -> PriorPlan:
    """The plan that a run's bank draws determine."""
    bank = independent_draws_of(records, BANK) if options.bank else []
    return PriorPlan(target, options, tuple(bank))


def prior_sample(records: Sequence[Record], target: GaussianTarget, options: SearchSection) -> PriorSample:
    """What a run's prior draws say."""
    return prior_plan(records, target, options).sample(independent_draws_of(records, PRIOR))
