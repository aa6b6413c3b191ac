"""The prior scenes of a run at the deciding look, how they were chosen, and what they say of the whole prior.

Without a bank they are plain prior draws. With one, the bank's scenes are scored at the cheapest look, and a sample of
them, likely hits above all, is rendered at the deciding look with recorded probabilities. If a dearer look has to lead
the chains, since the cheapest ranks scenes badly, the bank is scored at that look too and sampled once more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from trex.inference.statistics.budget import FURTHER_LEVEL, WANTED, further_draws, is_common
from trex.inference.statistics.how_often import HowOften, Part, SampledRate, how_often
from trex.inference.statistics.two_phase import (
    Selection,
    design,
    everyone,
    spread_members,
    spread_share,
    with_spread,
)
from trex.inference.targets import GaussianTarget
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.runs.record import BANK, PRIOR, SPREAD, Record
from trex.runs.replay import independent_draws_of
from trex.search.sampling.prior_sample import PriorSample, log_weights
from trex.worlds.kernels import SURROGATE
from trex.worlds.latents import Latent

LEVEL = 0.95
LIKELIEST = 16  # scenes of a bank that are rendered before its sample, which holds them too
# Of each sample of a bank that may be the one reported: a bank has two samples, and two more if another look may choose
# from it. Simulated (benchmarks/rates.py), whichever is reported covers with 95%.
SAMPLED_LEVEL = 0.9625
GROWTH = 4  # the larger of the two possible samples of a bank, in sizes of the first
SPARE = 1.25  # more hits than are wanted on average, since their number varies
# Those of runs made before there was a spread sample, by the union bound; their pages keep what they said.
BANK_LEVEL, RESCORED_LEVEL = 0.975, 0.9875


@dataclass(frozen=True)
class PriorPlan:
    """Which prior scenes a search renders at the deciding look: an initial sample, then more if the target is common.

    A sample is a selection of the bank's members, by place; the extended one holds all of the initial one. Prior draws
    are numbered in the order in which they are rendered, the initial sample first. Without a bank, both samples are
    plain prior draws, and `n_wanted` alone says how many more are needed.

    `bank` holds the bank's draws at the look that chooses, all of them; it is empty for a search without one. If the
    bank has been sampled before, at another look, that plan rendered the first `n_before` prior draws: `rendered` has
    them by the bank's member.
    """

    target: GaussianTarget
    options: SearchSection
    bank: tuple[Draw[Latent], ...]
    rendered: Mapping[int, Draw[Latent]] = field(default_factory=dict)
    n_before: int = 0

    @cached_property
    def initial(self) -> Selection:
        """The sample that decides whether the target is common."""
        return self._sample_of(self.options.prior_scenes)

    @cached_property
    def extended(self) -> Selection:
        """The sample of a common target."""
        options = self.options
        return self._sample_of(options.prior_scenes + min(self._budget, (GROWTH - 1) * options.prior_scenes))

    def _sample_of(self, n: int) -> Selection:
        if not self.bank:
            return everyone(self.options.prior_scenes)
        return design(self.options.seed, log_weights(self.bank), min(n, len(self.bank)))

    @property
    def n_initial(self) -> int:
        """The number of prior draws once the initial sample is rendered."""
        return self.n_before + sum(int(member) not in self.rendered for member in self.initial.members)

    @cached_property
    def members(self) -> list[int]:
        """The bank's members that are still to be rendered, in the order of their prior draws."""
        either = dict.fromkeys([*self.initial.members.tolist(), *self.extended.members.tolist()])
        return [member for member in either if member not in self.rendered]

    def latents(self) -> Mapping[int, Latent] | None:
        """The latent of each index; None for plain prior draws."""
        if not self.bank:
            return None
        return {index: self.bank[member].z for index, member in self._numbered}

    @property
    def _numbered(self) -> Iterator[tuple[int, int]]:
        """The index of each new prior draw, with its member of the bank."""
        return enumerate(self.members, start=self.n_before)

    def n_wanted(self, draws: Sequence[Draw[Latent]]) -> int:
        """The number of prior draws in all, decided by the initial ones: `n_initial` unless the target is common."""
        how = self._initial_sample(draws).how_often
        if not how.is_common:
            return self.n_initial
        if self.bank:
            return self.n_initial if how.ess >= WANTED else self.n_before + len(self.members)
        rate = how.rate.point
        return self.n_initial if rate is None else self.n_initial + further_draws(rate, self._hits(how))

    def sample(self, draws: Sequence[Draw[Latent]]) -> PriorSample:
        """What these prior draws, by index, say: all if they are all that was planned, else the initial ones.

        If those are not complete (a run that was stopped early), the ones that are there stand for themselves: with a
        bank, for its scenes before the first one that is missing. A common target without the further draws, which a
        search that has found enough leaves out, keeps its initial ones at their level: being called common takes many
        hits among them.
        """
        n = len(draws)
        if n < self.n_initial:
            return self._summary(draws, self._incomplete(n))
        initial, wanted = self._initial_sample(draws), self.n_wanted(draws)
        if wanted == self.n_initial or (n < wanted and self.bank):
            return initial
        if n < wanted:
            alone = how_often(initial.draws, initial.selection, self.target, FURTHER_LEVEL)
            return PriorSample(initial.draws, initial.selection, alone.decided(True))
        if self.bank:
            return self._summary(draws, self.extended)
        both = self._summary(draws[:wanted], everyone(wanted))
        further = draws[self.n_initial : wanted]
        rate = how_often(further, everyone(len(further)), self.target, FURTHER_LEVEL)
        return PriorSample(both.draws, both.selection, rate.decided(True, both.how_often))

    def _incomplete(self, n: int) -> Selection:
        """The selection that the first n draws of the initial sample are the whole of."""
        if not self.bank:
            return everyone(n)
        there, missing = self.members[:n], self.members[n]
        return Selection(np.array(there, dtype=np.intp), self.initial.inclusion[:missing])

    def _initial_sample(self, draws: Sequence[Draw[Latent]]) -> PriorSample:
        return self._summary(draws[: self.n_initial], self.initial)

    def _summary(self, draws: Sequence[Draw[Latent]], selection: Selection) -> PriorSample:
        ordered = list(draws)
        if self.bank:
            there = self._there(draws)
            members = [member for member in selection.members.tolist() if member in there]
            selection = Selection(np.array(members, dtype=np.intp), selection.inclusion)
            ordered = [there[member] for member in members]
        how = how_often(ordered, selection, self.target, self._level)
        return PriorSample(tuple(ordered), selection, how.decided(self._is_common(how)))

    def _there(self, draws: Sequence[Draw[Latent]]) -> dict[int, Draw[Latent]]:
        """The prior draws by the bank's member."""
        new = {member: draws[index] for index, member in self._numbered if index < len(draws)}
        return {**self.rendered, **new}

    @cached_property
    def spread(self) -> list[int]:
        """The members of the spread sample, the same for every query of the world and size of the bank."""
        m = self.options.spread
        return spread_members(self.options.bank_seed, m, len(self.bank)) if m and self.bank else []

    def spread_latents(self, draws: Sequence[Draw[Latent]]) -> Mapping[int, Latent]:
        """By index, the latents of the spread sample that are no prior draws of this search."""
        return {index: self.bank[member].z for index, member in enumerate(self._missing(draws))}

    def _missing(self, draws: Sequence[Draw[Latent]]) -> list[int]:
        there = self._there(draws[: self.n_wanted(draws)])  # further ones are of another look's sample
        return [member for member in self.spread if member not in there]

    def widened(
        self, sample: PriorSample, draws: Sequence[Draw[Latent]], more: Sequence[Draw[Latent]]
    ) -> PriorSample:
        """The search's own sample together with the spread sample, whose other draws are `more`, by index.

        The same sample if there is no spread sample, or if either is not complete.
        """
        if not self.spread or len(draws) < self.n_initial or len(more) < len(self._missing(draws)):
            return sample
        missing = self._missing(draws)
        there = {**self._there(draws), **dict(zip(missing, more, strict=False))}
        share = spread_share(self.options.spread or 0, len(self.bank))
        selection = with_spread(sample.selection, self.spread, share)
        ordered = tuple(there[member] for member in selection.members.tolist())
        how = how_often(ordered, selection, self.target, LEVEL if share == 1.0 else self._level)
        if isinstance(how.rate, SampledRate):
            spread = self._hits_of([there[member] for member in self.spread])
            rate = replace(how.rate, likely=self._hits_of(sample.draws), spread=spread)
            how = replace(how, rate=rate)
        return PriorSample(ordered, selection, how.decided(sample.how_often.is_common))

    def _hits_of(self, draws: Sequence[Draw[Latent]]) -> Part:
        return Part(sum(self.target.is_hit(draw.state.log_probs) for draw in draws), len(draws))

    @property
    def _level(self) -> float:
        if not self.bank:
            return LEVEL
        if self.options.spread is not None:
            return SAMPLED_LEVEL
        return RESCORED_LEVEL if self.options.kernel == SURROGATE else BANK_LEVEL

    def rescored(self, bank: tuple[Draw[Latent], ...], draws: Sequence[Draw[Latent]]) -> PriorPlan:
        """The plan for the same bank scored at another look, after the draws of this one."""
        n_before = self.n_wanted(draws)
        rendered = {member: draws[index] for index, member in self._numbered if index < n_before}
        return replace(self, bank=bank, rendered=rendered, n_before=n_before)

    @property
    def _budget(self) -> int:
        options = self.options
        return options.chains * options.steps if options.further is None else options.further

    def _is_common(self, how: HowOften) -> bool:
        """Whether the wanted effective independent draws fit the budget of renders and, with one, the bank."""
        if not self.bank:
            return self._budget > 0 and is_common(how.rate.point, self._budget, self._hits(how))
        if how.rate.point is None or not self._budget:
            return False
        return how.n * WANTED / how.ess <= self.extended.members.size

    def _hits(self, how: HowOften) -> float:
        """Hits for 25 effective draws, or for as many as the search is to find, by what one hit is worth."""
        effective = max(WANTED, self.options.stop_when_found)
        return SPARE * effective * max(1.0, how.hits / how.ess)


def prior_plan(records: Sequence[Record], target: GaussianTarget, options: SearchSection) -> PriorPlan:
    """The plan that a run's draws of the bank at the cheapest look determine."""
    return PriorPlan(target, options, tuple(bank_draws(records)))


def bank_draws(records: Sequence[Record], rank: int = 0) -> list[Draw[Latent]]:
    """The draws of the bank at the look of this rank, by index."""
    return independent_draws_of([record for record in records if record.rank == rank], BANK)


def second_look(records: Sequence[Record], options: SearchSection) -> int | None:
    """The rank of the look at which the whole bank has been scored a second time; None if it has not."""
    ranks = [record.rank for record in records if record.phase == BANK]
    rank = max(ranks, default=0)
    return rank if rank > 0 and ranks.count(rank) >= (options.bank or 1) else None


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


def last_plan(records: Sequence[Record], target: GaussianTarget, options: SearchSection) -> PriorPlan:
    """The plan of the second sample if its initial draws are complete, else of the first one."""
    second, draws = rescored_plan(records, target, options), independent_draws_of(records, PRIOR)
    if second is None or len(draws) < second.n_initial:
        return prior_plan(records, target, options)
    return second


def prior_sample(records: Sequence[Record], target: GaussianTarget, options: SearchSection) -> PriorSample:
    """What a search's own prior draws say, by which it decides and at which its chains start."""
    return last_plan(records, target, options).sample(independent_draws_of(records, PRIOR))


def counted_sample(records: Sequence[Record], target: GaussianTarget, options: SearchSection) -> PriorSample:
    """All random scenes of a run at the deciding look with their selection: every rate is counted on these.

    The search's own sample, and the spread sample once it is complete.
    """
    plan, draws = last_plan(records, target, options), independent_draws_of(records, PRIOR)
    return plan.widened(plan.sample(draws), draws, independent_draws_of(records, SPREAD))
