"""One search: prior batch, then chains where the target is rare, then a control where nothing was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.found import FoundScenes
from harness.journal import Journal
from harness.progress import Progress, Status
from harness.query import SearchSection
from harness.records import CHAIN, CONTROL, PRIOR, Record
from harness.replay import checkpoint, prior_draws, prior_record, round_records
from harness.run_folder import RunFolder
from harness.wiring import World
from inference.control import Control, control
from inference.endings import MIN_ESS
from inference.importance import HowOften, Rule, how_often
from inference.importance import prior_draws as score_prior
from inference.sampler import rounds, starts
from inference.targets import GaussianTarget
from inference.types import Draw, State
from render.picture import Picture
from scenes.errors import InputError
from scenes.scene import Scene

MIN_HITS = 10  # with fewer prior hits a target does not count as common
CONTROL_SEED = 1 << 32  # added to the query's seed, so that the control's chains draw other numbers
BATCH = 8  # prior scenes between two decisions; the same on every machine, so that any of them can resume


def decide(draws: Sequence[Draw[Scene]], target: GaussianTarget, options: SearchSection) -> HowOften:
    """What all prior draws say; the first `prior_scenes` of them decide whether the target is common."""
    rule = Rule(options.common_rate, max(MIN_HITS, options.stop_when_found))
    first = how_often(draws[: options.prior_scenes], target, rule)
    return replace(how_often(draws, target, rule), is_common=first.is_common)


def chain_starts(draws: Sequence[Draw[Scene]], options: SearchSection) -> tuple[State[Scene], ...]:
    """The prior draws that the chains start from."""
    return starts(options.seed, draws[: options.prior_scenes], options.chains)


def control_of(
    draws: Sequence[Draw[Scene]], target: GaussianTarget, options: SearchSection
) -> Control[Scene] | None:
    """The positive control and its starts; None where too few prior draws lie outside it.

    So it is where the model gives (nearly) all prior scenes the same score: no level set lies between.
    """
    try:
        easier = control(draws[: options.prior_scenes], target)
    except InputError:
        return None
    return easier if len(easier.outside) >= options.chains else None


class Search:
    """A search over one world, written to one run folder; what is on the disk already is not done again.

    A kill can leave part of a round or batch on the disk. Decisions are taken on whole rounds and batches only,
    so that a resumed run decides as an unbroken one does.
    """

    def __init__(self, world: World, folder: RunFolder, journal: Journal, progress: Progress) -> None:
        self._world, self._folder, self._journal, self._progress = world, folder, journal, progress
        self._target = world.plan.target
        self._options = world.plan.query.search
        self._batch = max(BATCH, 2 * (world.plan.query.render.processes or 0))
        self._found = FoundScenes(self._target)

    def run(self) -> None:
        """All that the query asks for."""
        options = self._options
        draws = self._prior(0, options.prior_scenes)
        if self._has_enough():
            return
        if decide(draws, self._target, options).is_common:
            self._more_prior(draws)
        elif options.steps:
            self._chains(CHAIN, self._target, chain_starts(draws, options), options.seed)
            if options.control and not self._found.hits:
                self._control(draws)

    def _control(self, draws: Sequence[Draw[Scene]]) -> None:
        """The same search with the same budget on an easier target, whose mass is known."""
        easier = control_of(draws, self._target, self._options)
        if easier is not None:
            seed = self._options.seed + CONTROL_SEED
            self._chains(CONTROL, easier.target, starts(seed, easier.outside, self._options.chains), seed)

    def _prior(self, begin: int, end: int) -> list[Draw[Scene]]:
        """The prior draws of these indices, made where they are missing."""
        known = [record for record in self._journal.of(PRIOR) if begin <= record.index < end]
        self._found.add(known)
        for first in range(begin + len(known), end, self._batch):
            self._show(PRIOR, first, end)
            indices = range(first, min(first + self._batch, end))
            plan, scorer = self._world.plan, self._world.scorer
            draws = score_prior(self._options.seed, indices, plan.prior, scorer, self._target)
            self._add([prior_record(draw, self._target, self._keep) for draw in draws])
        self._show(PRIOR, end, end)
        return prior_draws([record for record in self._journal.of(PRIOR) if record.index < end])

    def _more_prior(self, draws: list[Draw[Scene]]) -> None:
        """A common target: prior draws until their effective size says that they stand for the level set."""
        options = self._options
        most = options.prior_scenes + options.chains * options.steps
        while decide(draws, self._target, options).ess < MIN_ESS and len(draws) < most:
            draws = self._prior(len(draws), min(len(draws) + self._batch, most))

    def _chains(self, phase: str, target: GaussianTarget, first: Sequence[State[Scene]], seed: int) -> None:
        """Steps of all chains, until the budget is spent or enough is found."""
        options = self._options
        begin = checkpoint(self._journal.records, phase, first, seed)
        whole = [record for record in self._journal.of(phase) if record.index < begin.next_index]
        self._found.add(whole)
        self._show(phase, begin.next_index, options.steps)
        if self._is_over(phase, whole, target):
            return
        for done in rounds(self._world.kernel(target), begin, options.steps, options.warmup):
            records = round_records(phase, done, target, self._keep)
            self._add(records)
            self._show(phase, done.checkpoint.next_index, options.steps)
            if self._is_over(phase, records, target):
                return

    def _is_over(self, phase: str, records: Sequence[Record], target: GaussianTarget) -> bool:
        """Whether the chains have shown, with these records, what they were to show."""
        if phase == CHAIN:
            return self._has_enough()
        return any(record.is_accepted and target.is_hit(np.array(record.log_probs)) for record in records)

    def _has_enough(self) -> bool:
        return 0 < self._options.stop_when_found <= len(self._found.records)

    def _add(self, records: Sequence[Record]) -> None:
        self._journal.add(records)
        self._found.add(records)

    def _keep(self, picture: Picture) -> str:
        return self._folder.save_picture(picture.pixels, picture.mask)

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
