"""The prior scenes of a run at the deciding look, how they were chosen, and what they say of the whole prior.

Without a bank they are plain prior draws. With one, the bank's scenes are scored at the cheapest look, and a sample of
them, likely hits above all, is rendered at the deciding look with recorded probabilities. If a dearer look has to lead
the chains, since the cheapest ranks scenes badly, the bank is scored at that look too and sampled once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from trex.inference.statistics.budget import FURTHER_LEVEL, WANTED, further_draws, is_common
from trex.inference.statistics.how_often import HowOften, how_often
from trex.inference.statistics.two_phase import Selection, design, everyone
from trex.inference.targets import GaussianTarget
from trex.inference.types import PRIOR_CHAIN, Draw
from trex.query.schema import SearchSection
from trex.runs.record import BANK, PRIOR, Record
from trex.runs.replay import independent_draws_of
from trex.search.sampling.prior_sample import PriorSample, log_weights
from trex.worlds.kernels import SURROGATE
from trex.worlds.latents import Latent

LEVEL = 0.95
GROWTH = 4  # the larger of the two possible samples of a bank, in sizes of the first
SPARE = 1.25  # more hits than are wanted on average, since their number varies
# Of each sample that may be the one reported, so that it covers with 95 % whichever is (union bound): a bank has two
# samples, and two more if another look may choose from it.
BANK_LEVEL, RESCORED_LEVEL = 0.975, 0.9875


@dataclass(frozen=True)
class PriorPlan:
    """Which prior scenes a search renders at the deciding look: first some, then more if the target is common.

    `bank` holds the bank's draws at the look that chooses, all of them; it is empty for a search without one. `small`
    and `large` are the two possible samples of a bank; the large one holds all of the small one. `known` maps the
    members that an earlier plan has rendered to their prior draws, `begin` is the index of the first new one.
    """

    target: GaussianTarget
    options: SearchSection
    bank: tuple[Draw[Latent], ...]
    known: Mapping[int, Draw[Latent]] = field(default_factory=dict)
    begin: int = 0

    @cached_property
    def small(self) -> Selection:
        """The first sample."""
        return self._sample_of(self.options.prior_scenes)

    @cached_property
    def large(self) -> Selection:
        """The sample of a common target."""
        options = self.options
        return self._sample_of(options.prior_scenes + min(self._budget, (GROWTH - 1) * options.prior_scenes))

    def _sample_of(self, n: int) -> Selection:
        if not self.bank:
            return everyone(self.options.prior_scenes)
        return design(self.options.seed, log_weights(self.bank), min(n, len(self.bank)))

    @property
    def first(self) -> int:
        """The number of prior draws once those are there that decide whether the target is common."""
        return self.begin + sum(int(member) not in self.known for member in self.small.members)

    @cached_property
    def members(self) -> list[int]:
        """The bank's members that have to be rendered, in the order of their prior draws: the small sample first."""
        small = [int(member) for member in self.small.members]
        there = {*small, *self.known}
        new = [member for member in small if member not in self.known]
        return new + [int(member) for member in self.large.members if int(member) not in there]

    def latents(self) -> Mapping[int, Latent] | None:
        """The latent of each index; None for plain prior draws."""
        if not self.bank:
            return None
        return {index: self.bank[member].z for index, member in enumerate(self.members, start=self.begin)}

    def total(self, draws: Sequence[Draw[Latent]]) -> int:
        """The number of prior draws in all, decided by the first ones: `first` unless the target is common."""
        said = self._first(draws).how_often
        if not said.is_common:
            return self.first
        if self.bank:
            return self.first if said.ess >= WANTED else self.begin + len(self.members)
        rate = said.rate.point
        return self.first if rate is None else self.first + further_draws(rate, self._hits(said))

    def sample(self, draws: Sequence[Draw[Latent]]) -> PriorSample:
        """What these prior draws, by index, say: all if they are all that was planned, else the first ones.

        If the first ones are not complete (a run that was stopped early), those that are there stand for themselves:
        with a bank, for its scenes before the first one that is missing. A common target without the further draws,
        which a search that has found enough leaves out, keeps its first ones at their level: being called common
        takes many hits among them.
        """
        n = len(draws)
        if n < self.first:
            return self._summary(draws, self._begun(n))
        first, total = self._first(draws), self.total(draws)
        if total == self.first or (n < total and self.bank):
            return first
        if n < total:
            alone = how_often(first.draws, first.selection, self.target, FURTHER_LEVEL)
            return PriorSample(first.draws, first.selection, alone.decided(True))
        if self.bank:
            return self._summary(draws, self.large)
        both = self._summary(draws[:total], everyone(total))
        further = how_often(
            draws[self.first : total], everyone(total - self.first), self.target, FURTHER_LEVEL
        )
        return PriorSample(both.draws, both.selection, further.decided(True, both.how_often))

    def _begun(self, n: int) -> Selection:
        """The selection that the first n draws of the first sample are the whole of."""
        if not self.bank:
            return everyone(n)
        there, missing = self.members[:n], self.members[n]
        return Selection(np.array(there, dtype=np.intp), self.small.inclusion[:missing])

    def _first(self, draws: Sequence[Draw[Latent]]) -> PriorSample:
        return self._summary(draws[: self.first], self.small)

    def _summary(self, draws: Sequence[Draw[Latent]], selection: Selection) -> PriorSample:
        ordered = list(draws)
        if self.bank:
            places = enumerate(self.members, start=self.begin)
            there = {**self.known, **{member: draws[at] for at, member in places if at < len(draws)}}
            members = [member for member in selection.members.tolist() if member in there]
            selection = Selection(np.array(members, dtype=np.intp), selection.inclusion)
            ordered = [there[member] for member in members]
        said = how_often(ordered, selection, self.target, self._level)
        return PriorSample(tuple(ordered), selection, said.decided(self._is_common(said)))

    @property
    def _level(self) -> float:
        if not self.bank:
            return LEVEL
        return RESCORED_LEVEL if self.options.kernel == SURROGATE else BANK_LEVEL

    def rescored(self, bank: tuple[Draw[Latent], ...], draws: Sequence[Draw[Latent]]) -> PriorPlan:
        """The plan for the same bank scored at another look, after the draws of this one."""
        begin = self.total(draws)
        places = enumerate(self.members, start=self.begin)
        known = {member: draws[at] for at, member in places if at < begin}
        return replace(self, bank=bank, known=known, begin=begin)

    @property
    def _budget(self) -> int:
        options = self.options
        return options.chains * options.steps if options.further is None else options.further

    def _is_common(self, said: HowOften) -> bool:
        """Whether the wanted effective independent draws fit the budget of renders and, with one, the bank."""
        if not self.bank:
            return self._budget > 0 and is_common(said.rate.point, self._budget, self._hits(said))
        if said.rate.point is None or not self._budget:
            return False
        return said.n * WANTED / said.ess <= self.large.members.size

    def _hits(self, said: HowOften) -> float:
        """Hits for 25 effective draws, or for as many as the search is to find, by what one hit is worth."""
        effective = max(WANTED, self.options.stop_when_found)
        return SPARE * effective * max(1.0, said.hits / said.ess)


def prior_plan(records: Sequence[Record], target: GaussianTarget, options: SearchSection) -> PriorPlan:
    """The plan that a run's draws of the bank at the cheapest look determine."""
    return PriorPlan(target, options, tuple(bank_draws(records)))


def bank_draws(records: Sequence[Record], rank: int = 0) -> list[Draw[Latent]]:
    """The draws of the bank at the look of this rank, by index."""
    chain = rank or PRIOR_CHAIN
    return independent_draws_of([record for record in records if record.chain == chain], BANK)


def second_look(records: Sequence[Record], options: SearchSection) -> int | None:
    """The rank of the look at which the whole bank has been scored a second time; None if it has not."""
    chains = [record.chain for record in records if record.phase == BANK]
    rank = max(chains, default=PRIOR_CHAIN)
    return rank if rank > 0 and chains.count(rank) >= (options.bank or 1) else None


def rescored_plan(
    records: Sequence[Record], target: GaussianTarget, options: SearchSection
) -> PriorPlan | None:
    """The plan of a bank that has been scored at a second look, whole; None of one that has not."""
    rank = second_look(records, options)
    if rank is None:
        return None
    bank, draws = bank_draws(records, rank), independent_draws_of(records, PRIOR)
    return prior_plan(records, target, options).rescored(tuple(bank), draws)


def first_sample(records: Sequence[Record], target: GaussianTarget, options: SearchSection) -> PriorSample:
    """What the first sample of a run says: the only one, unless a second look has scored the bank."""
    return prior_plan(records, target, options).sample(independent_draws_of(records, PRIOR))


def prior_sample(records: Sequence[Record], target: GaussianTarget, options: SearchSection) -> PriorSample:
    """What a run's prior draws say: those of the second sample if it is complete, else the first one."""
    second, draws = rescored_plan(records, target, options), independent_draws_of(records, PRIOR)
    if second is None or len(draws) < second.first:
        return first_sample(records, target, options)
    return second.sample(draws)
