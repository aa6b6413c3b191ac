"""One search: prior scenes, then chains if the target is rare, then a control if there are no hits.

With a bank, prior scenes are scored at a cheap look first, and the likeliest at the deciding look; a calibration then
chooses the look that leads the chains. Every distinct hit is rendered with fresh noise seeds, in batches, until they
decide whether it counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from trex.inference.chains import Checkpoint
from trex.inference.statistics.control import Control
from trex.inference.statistics.gate import LEAST_SCENES
from trex.inference.targets import GaussianTarget
from trex.runs.folder import RunFolder
from trex.runs.journal import Journal
from trex.runs.record import (
    BANK,
    CALIBRATION,
    CHAIN,
    CONTROLS,
    FRESH,
    LIKELY,
    NOISE,
    PHASES,
    PRIOR,
    RANDOM,
    SPREAD,
    Record,
)
from trex.runs.replay import checkpoint, independent_draws_of
from trex.search.engine import Engine, Independent
from trex.search.hits import Hits
from trex.search.progress import Status, Watcher
from trex.search.sampling.calibration import calibration_latents
from trex.search.sampling.decisions import (
    attempt_of,
    calibration_of,
    chain_starts,
    control_starts,
    controls_of,
)
from trex.search.sampling.prior_plan import (
    LIKELIEST,
    PriorPlan,
    bank_draws,
    last_plan,
    prior_plan,
    rescored_plan,
)
from trex.search.sampling.prior_sample import PriorSample, log_weights
from trex.worlds.costs import rescores_bank
from trex.worlds.kernels import SURROGATE
from trex.worlds.latents import Latent
from trex.worlds.looks import DECIDING, ladder

IsOver = Callable[[int], bool]  # whether the steps of a phase before this index complete it


class Search:
    """A search that writes to one run folder: it decides, `engine` does the work; work on the disk is not repeated.

    A kill can leave part of a round or batch on the disk. The search decides on whole rounds and phases only, so
    that a resumed run decides as an uninterrupted one does.
    """

    def __init__(self, folder: RunFolder, engine: Engine, journal: Journal, progress: Watcher) -> None:
        self._engine, self._journal, self._progress = engine, journal, progress
        self._target = folder.manifest.target
        self._query = folder.manifest.query
        self._options = folder.manifest.search
        self._are_distinct = folder.manifest.world.are_distinct
        self._presumed = folder.manifest.facts.presumed
        self._found = self._enter(PHASES[-1], math.inf)  # to show those of a run that is resumed

    def run(self) -> None:
        """Carry out everything that the query asks for."""
        self._search()
        self._spread()

    def _search(self) -> None:
        """The prior scenes, then what they call for."""
        options = self._options
        looks = ladder(self._query.render)
        if options.bank and looks:
            self._draw(Independent(BANK, looks[0], seed=options.bank_seed, is_banked=True), options.bank)
            self._likely()
        sample = self._prior(prior_plan(self._journal.records, self._target, options))
        if self._is_done(sample):
            return
        lead = self._lead(sample)
        if rescores_bank(self._query, lead):
            sample = self._rescored(lead)
            if self._is_done(sample):
                return
        first = chain_starts(sample, options, self._are_distinct)
        begin = checkpoint(self._journal.records, CHAIN, first, options.seed)
        self._chains(CHAIN, self._target, begin, lead, lambda _: self._has_enough())
        if options.control:
            self._control(sample, lead)

    def _likely(self) -> None:
        """The likeliest scenes of the bank first, so that what is found is told early.

        The sample holds them too, with recorded probabilities; these draws count for no rate.
        """
        if self._journal.of(PRIOR) and not self._journal.of(LIKELY):
            return  # a run of before there was this phase
        bank = bank_draws(self._journal.records)
        members = np.argsort(-log_weights(bank), kind="stable")[:LIKELIEST].tolist()
        zs = {index: bank[member].z for index, member in enumerate(members)}
        self._found = self._enter(LIKELY, len(zs))
        self._draw(Independent(LIKELY, seed=self._options.bank_seed, zs=zs, is_banked=True), len(zs))
        self._check_fresh()
        self._show(LIKELY, len(zs), len(zs))

    def _spread(self) -> None:
        """The spread sample of the world at the deciding look, for the rate; its hits are checked as any."""
        plan = last_plan(self._journal.records, self._target, self._options)
        zs = plan.spread_latents(independent_draws_of(self._journal.records, PRIOR))
        if zs:
            self._found = self._enter(SPREAD, len(zs))
            self._draw(Independent(SPREAD, seed=self._options.bank_seed, zs=zs, is_banked=True), len(zs))
            self._check_fresh()
            self._show(SPREAD, len(zs), len(zs))

    def _control(self, sample: PriorSample, lead: str) -> None:
        """Run the same search on easier targets of known mass, until one is missed; a hit of the query ends it."""
        for rank, easier in enumerate(controls_of(sample, self._target, self._options)):
            if self._found.hits:
                return
            seed, first = control_starts(rank, easier, self._options)
            begin = checkpoint(self._journal.records, CONTROLS[rank], first, seed)
            self._chains(CONTROLS[rank], easier.target, begin, lead, partial(self._is_decided, rank, easier))
            if not attempt_of(self._journal.records, rank, easier).is_passed:
                return

    def _is_decided(self, rank: int, easier: Control[Latent], end: int) -> bool:
        return attempt_of(self._journal.records, rank, easier, end).is_decided

    def _is_done(self, sample: PriorSample) -> bool:
        return self._has_enough() or sample.is_enough or not self._options.steps

    def _rescored(self, look: str) -> PriorSample:
        """The sample of the bank as this look scores it, in place of the cheapest one, which ranks scenes badly."""
        options = self._options
        rank = ladder(self._query.render).index(look)
        self._draw(Independent(BANK, look, rank, options.bank_seed, is_banked=True), options.bank or 0)
        plan = rescored_plan(self._journal.records, self._target, options)
        assert plan is not None, "the bank has just been scored"
        return self._prior(plan)

    def _prior(self, plan: PriorPlan) -> PriorSample:
        """The prior scenes at the deciding look: the first ones, and more of them if the target is common."""
        self._scenes(plan.latents(), plan.n_initial)
        if not self._has_enough():
            self._scenes(plan.latents(), plan.n_wanted(independent_draws_of(self._journal.records, PRIOR)))
        return plan.sample(independent_draws_of(self._journal.records, PRIOR))

    def _scenes(self, zs: Mapping[int, Latent] | None, end: int) -> None:
        """The prior draws below `end`, and the noise draws of the hits among them."""
        options, is_banked = self._options, bool(self._options.bank)
        seed = options.bank_seed if is_banked else options.seed
        self._found = self._enter(PRIOR, end)
        self._draw(Independent(PRIOR, seed=seed, zs=zs, is_banked=is_banked), end)
        self._check_fresh()
        self._show(PRIOR, end, end)

    def _lead(self, sample: PriorSample) -> str:
        """The look that leads the chains; renders the calibration's scenes at one look after the other."""
        if self._options.kernel != SURROGATE or len(sample.draws) < LEAST_SCENES:
            return DECIDING
        looks = ladder(self._query.render)
        while True:
            places, found = calibration_of(self._query, self._journal.records, sample)
            if found.lead or len(found.tried) == len(looks):
                return found.lead
            rank = len(found.tried)
            zs = calibration_latents(places, sample)
            options = self._options
            what = Independent(CALIBRATION, looks[rank], rank, options.bank_seed, zs, bool(options.bank))
            self._draw(what, len(places))

    def _draw(self, what: Independent, end: int) -> None:
        """Make the independent draws below `end` that are missing."""
        done = sum(row.index < end for row in self._journal.of(what.phase) if row.rank == what.rank)
        self._show(what.phase, done, end)
        for records in self._engine.draws(what, range(done, end), end):
            self._journal.add(records)
            if what.phase in RANDOM:
                self._found.add(records)
            self._show(what.phase, records[-1].index + 1, end)

    def _check_fresh(self) -> None:
        """Make the noise draws of the new hits, a batch of each at a time, until all are decided."""
        while due := self._found.due:
            begin = len(self._journal.of(NOISE))
            end = begin + len(due)
            what = Independent(NOISE, zs=dict(enumerate(due, begin)))
            for records in self._engine.draws(what, range(begin, end), end):
                self._add(records)

    def _chains(
        self, phase: str, target: GaussianTarget, begin: Checkpoint[Latent], lead: str, is_over: IsOver
    ) -> None:
        """Step all chains until the budget is spent or the phase is over."""
        options = self._options
        self._found = self._enter(phase, begin.next_index)
        self._check_fresh()
        self._show(phase, begin.next_index, options.steps)
        if is_over(begin.next_index):
            return
        for records in self._engine.rounds(phase, target, begin, options.steps, lead):
            self._add(records)
            self._check_fresh()
            self._show(phase, records[-1].index + 1, options.steps)
            if is_over(records[-1].index + 1):
                return

    def _has_enough(self) -> bool:
        return 0 < self._options.stop_when_found <= len(self._found.found)

    def _add(self, records: Sequence[Record]) -> None:
        self._journal.add(records)
        self._found.add(records)

    def _enter(self, phase: str, index: float) -> Hits:
        """The hits on the disk that the search made before this step of a phase; later ones wait for their turn.

        That is all in phases that come before it, and the noise draws of any hit.
        """
        done = PHASES[: PHASES.index(phase)]
        found = Hits(self._target, self._are_distinct, self._query.render.fresh or 0, self._presumed)
        found.add(
            record
            for record in self._journal.records
            if record.phase in (*done, NOISE, FRESH) or (record.phase == phase and record.index < index)
        )
        return found

    def _show(self, phase: str, done: int, total: int) -> None:
        is_stepping = phase in (CHAIN, *CONTROLS)
        rows = [row for row in self._journal.of(phase) if not row.is_copy] if is_stepping else []
        self._progress.update(
            Status(
                phase=phase,
                done=done,
                total=total,
                renders=self._journal.renders,
                steps=len(rows),
                accepted=sum(row.is_accepted for row in rows),
                best=self._found.best,
                found=len(self._found.found),
                wanted=self._options.stop_when_found,
            )
        )
