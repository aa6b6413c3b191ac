"""One search: a prior batch, then chains if the target is rare, then a control if there are no hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.chains import starts
from trex.inference.statistics.control import Control, control
from trex.inference.statistics.importance import HowOften, Rule, how_often
from trex.inference.statistics.verdict import MIN_ESS
from trex.inference.targets import GaussianTarget
from trex.inference.types import Draw, State
from trex.query.schema import SearchSection
from trex.runs.folder import RunFolder
from trex.runs.journal import Journal
from trex.runs.record import CHAIN, CONTROL, PRIOR, Record
from trex.runs.replay import checkpoint, prior_draws
from trex.search.engine import Engine, batch_size
from trex.search.hits import Hits
from trex.search.progress import Progress, Status
from trex.worlds.latents import Latent
from trex.worlds.registry import world_named

MIN_HITS = 10  # with fewer prior hits a target does not count as common
CONTROL_SEED = 1 << 32  # added to the query's seed, to give the control's chains other random numbers


def decide(draws: Sequence[Draw[Latent]], target: GaussianTarget, options: SearchSection) -> HowOften:
    """How common the target is by all prior draws; the first `prior_scenes` of them decide whether it is common."""
    rule = Rule(options.common_rate, max(MIN_HITS, options.stop_when_found))
    first = how_often(draws[: options.prior_scenes], target, rule)
    return replace(how_often(draws, target, rule), is_common=first.is_common)


def next_look(n: int, batch: int) -> int:
    """The number of prior draws at the next decision after n: 5 % more, since each decision reads all draws."""
    return n + max(batch, n // 20)


def chain_starts(draws: Sequence[Draw[Latent]], options: SearchSection) -> tuple[State[Latent], ...]:
    """The prior draws at which the chains start."""
    return starts(options.seed, draws[: options.prior_scenes], options.chains)


def control_of(
    draws: Sequence[Draw[Latent]], target: GaussianTarget, options: SearchSection
) -> Control[Latent] | None:
    """The positive control and its starts; None if too few prior draws lie outside its level set.

    That happens if the model gives (nearly) all prior scenes the same score: then no level set lies between.
    """
    try:
        easier = control(draws[: options.prior_scenes], target)
    except InputError:
        return None
    return easier if len(easier.outside) >= options.chains else None


class Search:
    """A search that writes to one run folder: it decides, `engine` does the work; work on the disk is not repeated.

    A kill can leave part of a round or batch on the disk. The search decides on whole rounds and batches only, so
    that a resumed run decides as an uninterrupted one does.
    """

    def __init__(self, folder: RunFolder, engine: Engine, journal: Journal, progress: Progress) -> None:
        self._engine, self._journal, self._progress = engine, journal, progress
        self._target = folder.manifest.target
        self._options = folder.manifest.query.search
        self._batch = batch_size(folder.manifest.query)
        self._found = Hits(self._target, world_named(folder.manifest.query.generator.name).are_distinct)

    def run(self) -> None:
        """Carry out everything that the query asks for."""
        options = self._options
        draws = self._prior(0, options.prior_scenes, options.prior_scenes)
        if self._has_enough():
            return
        if decide(draws, self._target, options).is_common:
            self._more_prior(draws)
        elif options.steps:
            self._chains(CHAIN, self._target, chain_starts(draws, options), options.seed)
            if options.control and not self._found.hits:
                self._control(draws)

    def _control(self, draws: Sequence[Draw[Latent]]) -> None:
        """Run the same search, with the same budget, on an easier target whose probability mass is known."""
        easier = control_of(draws, self._target, self._options)
        if easier is not None:
            seed = self._options.seed + CONTROL_SEED
            self._chains(CONTROL, easier.target, starts(seed, easier.outside, self._options.chains), seed)

    def _prior(self, begin: int, end: int, most: int) -> list[Draw[Latent]]:
        """The prior draws below `end`; makes those from `begin` on that are missing."""
        known = [record for record in self._journal.of(PRIOR) if begin <= record.index < end]
        self._found.add(known)
        self._show(PRIOR, begin + len(known), end)
        for records in self._engine.prior(range(begin + len(known), end), most):
            self._add(records)
            self._show(PRIOR, records[-1].index + 1, end)
        return prior_draws([record for record in self._journal.of(PRIOR) if record.index < end])

    def _more_prior(self, draws: list[Draw[Latent]]) -> None:
        """Add prior draws for a common target until their effective sample size suffices."""
        options = self._options
        most = options.prior_scenes + options.chains * options.steps
        while decide(draws, self._target, options).ess < MIN_ESS and len(draws) < most:
            draws = self._prior(len(draws), min(next_look(len(draws), self._batch), most), most)

    def _chains(self, phase: str, target: GaussianTarget, first: Sequence[State[Latent]], seed: int) -> None:
        """Step all chains until the budget is spent or enough is found."""
        options = self._options
        begin = checkpoint(self._journal.records, phase, first, seed)
        whole = [record for record in self._journal.of(phase) if record.index < begin.next_index]
        self._found.add(whole)
        self._show(phase, begin.next_index, options.steps)
        if self._is_over(phase, whole, target):
            return
        for records in self._engine.rounds(phase, target, begin, options.steps):
            self._add(records)
            self._show(phase, records[-1].index + 1, options.steps)
            if self._is_over(phase, records, target):
                return

    def _is_over(self, phase: str, records: Sequence[Record], target: GaussianTarget) -> bool:
        """Whether these records complete what the chains of this phase have to show."""
        if phase == CHAIN:
            return self._has_enough()
        return any(record.is_accepted and target.is_hit(np.array(record.log_probs)) for record in records)

    def _has_enough(self) -> bool:
        return 0 < self._options.stop_when_found <= len(self._found.records)

    def _add(self, records: Sequence[Record]) -> None:
        self._journal.add(records)
        self._found.add(records)

    def _show(self, phase: str, done: int, total: int) -> None:
        rows = self._journal.of(phase) if phase != PRIOR else []
        self._progress.update(
            Status(
                phase=phase,
                done=done,
                total=total,
                renders=self._journal.renders,
                steps=len(rows),
                accepted=sum(row.is_accepted for row in rows),
                best=self._found.best,
                found=len(self._found.records),
                wanted=self._options.stop_when_found,
            )
        )
