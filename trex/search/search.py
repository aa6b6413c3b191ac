"""One search: prior scenes, then chains if the target is rare, then a control if there are no hits.

With a bank, prior scenes are scored at a cheap look first, and the likeliest at the deciding look; a calibration then
chooses the look that leads the chains. Every distinct hit is checked under fresh noise draws before it counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from trex.foundation.errors import InputError
from trex.inference.chains import starts
from trex.inference.rng import START_STREAM, stream
from trex.inference.starts import dispersed_starts
from trex.inference.statistics.control import Control, control
from trex.inference.statistics.importance import resample
from trex.inference.targets import GaussianTarget
from trex.inference.types import State
from trex.query.schema import Query, SearchSection
from trex.runs.folder import RunFolder
from trex.runs.journal import Journal
from trex.runs.record import BANK, CALIBRATION, CHAIN, CONTROL, FRESH, PRIOR, Record
from trex.runs.replay import checkpoint, independent_draws_of
from trex.search.calibration import Calibration, calibration_latents, calibration_places, read_calibration
from trex.search.engine import Engine, Independent, batch_size
from trex.search.hits import Distinct, Hits
from trex.search.prior_sample import PriorSample, prior_plan, prior_sample
from trex.search.progress import Progress, Status
from trex.worlds.kernels import SAMPLERS, SURROGATE
from trex.worlds.latents import Latent, from_stored
from trex.worlds.looks import DECIDING, ladder
from trex.worlds.looks import FRESH as FRESH_LOOK
from trex.worlds.registry import world_named

CONTROL_SEED = 1 << 32  # added to the query's seed, to give the control's chains other random numbers


def chain_starts(
    sample: PriorSample, options: SearchSection, are_distinct: Distinct
) -> tuple[State[Latent], ...]:
    """The prior draws at which the chains start; from a bank, of different clusters.

    A sampler that starts at the prior gets the first ones; from a bank, resampled as the prior has them.
    """
    sampler = SAMPLERS.known.get(options.kernel)
    if sampler and sampler.starts_at_prior:
        return _prior_starts(sample, options)
    if not options.bank:
        return starts(options.seed, sample.draws[: options.prior_scenes], options.chains)
    picked = dispersed_starts(
        options.seed,
        [draw.z for draw in sample.draws],
        np.array([draw.evaluation.log_weight for draw in sample.draws]),
        sample.inclusion,
        lambda one, other: not are_distinct(one, other),
        options.chains,
    )
    return tuple(State(sample.draws[place].z, sample.draws[place].evaluation) for place in picked)


def _prior_starts(sample: PriorSample, options: SearchSection) -> tuple[State[Latent], ...]:
    places = list(range(options.chains))
    if options.bank:
        rng = stream(options.seed, START_STREAM)
        places = resample(rng, -np.log(sample.inclusion), options.chains)
    return tuple(State(sample.draws[place].z, sample.draws[place].evaluation) for place in places)


def control_of(sample: PriorSample, target: GaussianTarget, options: SearchSection) -> Control[Latent] | None:
    """The positive control and its starts; None if too few prior draws lie outside its level set.

    That happens if the model gives (nearly) all prior scenes the same score: then no level set lies between.
    """
    try:
        easier = control(sample.draws[: options.prior_scenes], target)
    except InputError:
        return None
    return easier if len(easier.outside) >= options.chains else None


def calibration_of(
    query: Query, records: Sequence[Record], sample: PriorSample
) -> tuple[tuple[int, ...], Calibration]:
    """The places in the sample of the calibration's scenes, and what the records hold of it."""
    weights = {record.index: record.log_weight for record in records if record.phase == BANK}
    bank = np.array([weights[int(member)] for member in sample.selection.members])
    places = calibration_places(query.search.seed, sample)
    return places, read_calibration(records, ladder(query.render.preset), places, sample, bank)


class Search:
    """A search that writes to one run folder: it decides, `engine` does the work; work on the disk is not repeated.

    A kill can leave part of a round or batch on the disk. The search decides on whole rounds and phases only, so
    that a resumed run decides as an uninterrupted one does.
    """

    def __init__(self, folder: RunFolder, engine: Engine, journal: Journal, progress: Progress) -> None:
        self._engine, self._journal, self._progress = engine, journal, progress
        self._target = folder.manifest.target
        self._query = folder.manifest.query
        self._options = self._query.search
        self._batch = batch_size(self._query)
        self._are_distinct = world_named(self._query.generator.name).are_distinct
        self._found = self._hits([])

    def run(self) -> None:
        """Carry out everything that the query asks for."""
        options = self._options
        looks = ladder(self._query.render.preset)
        if options.bank and looks:
            self._draw(Independent(BANK, looks[0], seed=options.bank_seed, is_banked=True), options.bank)
        sample = self._prior()
        if self._has_enough() or sample.is_enough or not options.steps:
            return
        lead = self._lead(sample)
        self._chains(
            CHAIN, self._target, chain_starts(sample, options, self._are_distinct), options.seed, lead
        )
        if options.control and not self._found.hits:
            self._control(sample, lead)

    def _control(self, sample: PriorSample, lead: str) -> None:
        """Run the same search, with the same budget, on an easier target whose probability mass is known."""
        easier = control_of(sample, self._target, self._options)
        if easier is not None:
            seed = self._options.seed + CONTROL_SEED
            first = starts(seed, easier.outside, self._options.chains)
            self._chains(CONTROL, easier.target, first, seed, lead)

    def _prior(self) -> PriorSample:
        """The prior scenes at the deciding look: the first ones, and more of them if the target is common."""
        plan = prior_plan(self._journal.records, self._target, self._options)
        self._scenes(plan.latents(), plan.first)
        if not self._has_enough():
            self._scenes(plan.latents(), plan.total(independent_draws_of(self._journal.records, PRIOR)))
        return prior_sample(self._journal.records, self._target, self._options)

    def _scenes(self, zs: Mapping[int, Latent] | None, end: int) -> None:
        """The prior draws below `end`, and the fresh draws of the hits among them."""
        options, is_banked = self._options, bool(self._options.bank) and zs is None
        seed = options.bank_seed if is_banked else options.seed
        self._draw(Independent(PRIOR, seed=seed, zs=zs, is_banked=is_banked), end)
        known = (one for one in self._journal.records if one.phase == FRESH or _is_prior_below(one, end))
        self._found = self._hits(list(known))
        self._check_fresh()

    def _lead(self, sample: PriorSample) -> str:
        """The look that leads the chains; renders the calibration's scenes at one look after the other."""
        if self._options.kernel != SURROGATE:
            return DECIDING
        looks = ladder(self._query.render.preset)
        while True:
            places, found = calibration_of(self._query, self._journal.records, sample)
            if found.lead or len(found.rungs) == len(looks):
                return found.lead
            rank = len(found.rungs)
            zs = calibration_latents(places, sample)
            self._draw(Independent(CALIBRATION, looks[rank], rank, zs=zs), len(places))

    def _draw(self, what: Independent, end: int) -> None:
        """Make the independent draws below `end` that are missing."""
        done = sum(one.index < end for one in self._journal.of(what.phase) if one.chain == what.chain)
        self._show(what.phase, done, end)
        for records in self._engine.draws(what, range(done, end), end):
            self._journal.add(records)
            if what.phase == PRIOR:
                self._found.add(records)
            self._show(what.phase, records[-1].index + 1, end)

    def _check_fresh(self) -> None:
        """Score the new hits under fresh noise draws."""
        pending = self._found.pending
        if not pending:
            return
        begin = len(self._journal.of(FRESH))
        zs = {begin + place: from_stored(record.z) for place, record in enumerate(pending)}
        what = Independent(FRESH, FRESH_LOOK, zs=zs)
        for records in self._engine.draws(what, range(begin, begin + len(pending)), begin + len(pending)):
            self._add(records)

    def _chains(
        self, phase: str, target: GaussianTarget, first: Sequence[State[Latent]], seed: int, lead: str
    ) -> None:
        """Step all chains until the budget is spent or enough is found."""
        options = self._options
        begin = checkpoint(self._journal.records, phase, first, seed)
        whole = [one for one in self._journal.records if _is_before(one, phase, begin.next_index)]
        self._found = self._hits(whole)
        self._check_fresh()
        self._show(phase, begin.next_index, options.steps)
        if self._is_over(phase, [one for one in whole if one.phase == phase], target):
            return
        for records in self._engine.rounds(phase, target, begin, options.steps, lead):
            self._add(records)
            self._check_fresh()
            self._show(phase, records[-1].index + 1, options.steps)
            if self._is_over(phase, records, target):
                return

    def _is_over(self, phase: str, records: Sequence[Record], target: GaussianTarget) -> bool:
        """Whether these records complete what the chains of this phase have to show."""
        if phase == CHAIN:
            return self._has_enough()
        return any(record.is_accepted and target.is_hit(np.array(record.log_probs)) for record in records)

    def _has_enough(self) -> bool:
        return 0 < self._options.stop_when_found <= len(self._found.found)

    def _add(self, records: Sequence[Record]) -> None:
        self._journal.add(records)
        self._found.add(records)

    def _hits(self, records: Sequence[Record]) -> Hits:
        found = Hits(self._target, self._are_distinct, bool(self._query.render.fresh))
        found.add(records)
        return found

    def _show(self, phase: str, done: int, total: int) -> None:
        rows = (
            [row for row in self._journal.of(phase) if not row.is_copy] if phase in (CHAIN, CONTROL) else []
        )
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


def _is_before(record: Record, phase: str, index: int) -> bool:
    """Whether the search made this record before step `index` of the chains of a phase (or it is a fresh draw)."""
    if record.phase == phase:
        return record.index < index
    return record.phase != CONTROL


def _is_prior_below(record: Record, end: int) -> bool:
    return record.phase == PRIOR and record.index < end
