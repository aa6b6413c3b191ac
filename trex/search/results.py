"""The results of a run, read from its folder alone: no model, no renderer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trex.families.family import Family
from trex.families.lineage import Families, distinct_words, group, with_families, with_rates
from trex.foundation.errors import RunError
from trex.inference.statistics.control import control_words
from trex.inference.statistics.gate import LEAST_SCENES
from trex.inference.statistics.how_often import HowOften
from trex.inference.statistics.verdict import Conclusion, conclude
from trex.inference.types import Draw, State
from trex.runs.manifest import Manifest
from trex.runs.record import BANK, CALIBRATION, CHAIN, CONTROLS, LIKELY, PRIOR, RANDOM, Record
from trex.runs.replay import chain_draws
from trex.search.hit import Hit, nearest_misses, sorted_hits
from trex.search.hits import Hits
from trex.search.judging.caveats import no_answer_remarks, renderer_checks, spread_remarks
from trex.search.judging.endings import corrected, diagnosis_of, level_sentences, lines_left, related
from trex.search.judging.value_families import families_by_value, specs_of_run
from trex.search.sampling.calibration import LookCalibration
from trex.search.sampling.decisions import (
    attempt_of,
    calibration_of,
    chain_starts,
    control_starts,
    controls_of,
)
from trex.search.sampling.prior_plan import counted_sample, first_sample, prior_sample, second_look
from trex.search.sampling.prior_sample import PriorSample
from trex.worlds.kernels import SURROGATE
from trex.worlds.latents import VECTORS, Latent, identity

NO_CONTROL = (
    "No positive control could be run: for an easier level set of known mass (about 1%) at least 100 prior draws "
    "with different scores are needed; raise search.prior_scenes."
)


@dataclass(frozen=True)
class Results:
    """Everything that a report says about the draws; `found` and `fragile` are sorted by confidence in the target.

    `fragile` are the distinct hits that left the level set under fresh noise draws, most confident first. `renders`
    counts the pictures at the deciding look, `cheap` those of the bank and of the looks that led or might have led the
    chains. `is_chosen_anew`: the leading look scored the whole bank, and `sample` is what it chose. Rates of anything
    else are counted on `sample.counted`, by `how_often.rate_of`.
    """

    conclusion: Conclusion
    found: tuple[Hit, ...]
    control: str
    remarks: tuple[str, ...]  # caveats of the world, whatever the hits
    checks: tuple[str, ...]  # on the renderer, computed from the draws
    chains: tuple[Draw[Latent], ...]
    renders: int
    proposals: int
    invalid: int
    accepted: int
    families: Families  # of `found`, in its order
    sample: PriorSample
    fragile: tuple[Hit, ...] = ()
    cheap: int = 0
    calibration: LookCalibration | None = None
    fresh_checks: tuple[int, int] = (0, 0)  # how many failed, of how many; one place may have had several
    is_chosen_anew: bool = False
    nearest: tuple[Hit, ...] = ()  # most confident misses of a run without hits

    @property
    def starts(self) -> dict[str, int]:
        """By picture, the start of each hit. Hits of one start are alike, and shares of hits allow for that."""
        numbered = zip(self.found, self.families.clusters, strict=True)
        return {hit.record.picture: start for hit, start in numbered if hit.record.picture}

    @property
    def prior(self) -> tuple[Draw[Latent], ...]:
        """The prior draws at the deciding look."""
        return self.sample.draws

    @property
    def how_often(self) -> HowOften:
        """What they show about the level set."""
        return self.sample.how_often

    @property
    def ending(self) -> str:
        """One of CONVERGED, FOUND and NOT FOUND."""
        return self.conclusion.ending.value


def read_results(
    manifest: Manifest,
    records: Sequence[Record],
    known: Callable[[Sequence[Hit]], Sequence[Family]] = lambda found: (),
) -> Results:
    """The results of a run; needs at least one prior draw.

    `known` gives the families of its hits, as far as these have been traced or explained.
    """
    target, options = manifest.target, manifest.search
    searched, sample = (make(records, target, options) for make in (prior_sample, counted_sample))
    prior, how = sample.draws, sample.how_often
    chains = _chains(manifest, records, searched)
    summaries = manifest.world.summaries(manifest.resolved, prior[0].z)
    found = Hits(
        target, manifest.world.are_distinct, manifest.query.render.fresh or 0, manifest.facts.presumed
    )
    found.add(records)
    renders = sum(_renders(manifest, record) for record in records)
    calibration = _calibration(manifest, records)
    scenes = sorted_hits(manifest, found.found, found)
    families = _families(manifest, scenes, found, (searched, sample), known(scenes))
    examples = distinct_words(manifest.world.noun, len(scenes), families) if scenes else ""
    trajectories = diagnosis_of(chains, target, options)
    doubts = trajectories.doubts if trajectories else ()
    with np.errstate(divide="ignore", invalid="ignore"):  # a summary may be constant
        conclusion = conclude([*prior, *chains], target, summaries, how, renders, examples, doubts)
    if found.hits:  # the best of all draws, those too that the sample does not hold
        conclusion = replace(conclusion, best=found.best)
    steps = [record for record in records if record.phase == CHAIN and not record.is_copy]
    return Results(
        conclusion=related(corrected(conclusion, found, examples, chains, how, options), lines_left(records)),
        found=scenes,
        control="" if found.hits else _control(manifest, records, searched),
        remarks=(
            *no_answer_remarks(manifest, records),
            *manifest.world.remarks(manifest.resolved),
            *spread_remarks(manifest, sample),
        ),
        checks=(
            *renderer_checks(manifest, records),
            *(trajectories.sentences() if trajectories else ()),
            *(
                _look_sentences(calibration, len(searched.draws))
                if chains and options.kernel == SURROGATE
                else ()
            ),
            *level_sentences(records),
        ),
        chains=tuple(chains),
        renders=renders,
        proposals=len(steps),
        invalid=sum(not record.is_rendered and record.figures.get("is_moved", 1) == 1 for record in steps),
        accepted=sum(record.is_accepted for record in steps),
        families=families,
        sample=sample,
        fragile=sorted_hits(manifest, found.fragile, found),
        fresh_checks=(len(found.lost), found.checked),
        cheap=sum(_cheap_renders(record) for record in records),
        calibration=calibration,
        is_chosen_anew=second_look(records, options) is not None,
        nearest=() if found.hits else nearest_misses(manifest, records),
    )


def _renders(manifest: Manifest, record: Record) -> int:
    """The pictures that a record cost at the deciding look."""
    return 0 if record.phase in (BANK, CALIBRATION) else record.pictures(manifest.query.render)


def _cheap_renders(record: Record) -> int:
    """The pictures that a record cost at cheaper looks."""
    if record.phase in (BANK, CALIBRATION):
        return 1
    return record.inner_pictures


def _calibration(manifest: Manifest, records: Sequence[Record]) -> LookCalibration | None:
    """What is known of the looks that may lead; None for a search without a bank, or before its sample is whole."""
    query = manifest.query
    if not any(record.phase == BANK for record in records):
        return None
    sample = first_sample(records, manifest.target, query.search)
    if len(sample.draws) < LEAST_SCENES:
        return None
    return calibration_of(query, records, sample)[1]


def _families(
    manifest: Manifest,
    scenes: Sequence[Hit],
    found: Hits,
    samples: tuple[PriorSample, PriorSample],
    known: Sequence[Family],
) -> Families:
    """The families of the hits, with their rates, by the sample that the chains start from and the counted one."""
    searched, sample = samples
    world, zs = manifest.world, [hit.record.z for hit in scenes]
    sources, origins = _lineage(manifest, scenes, searched)
    if specs_of_run(manifest):
        alone = group(zs, sources, origins, world.noun, ())
        by_value = families_by_value(manifest, scenes, alone.clusters, origins, sample, found.lost)
        return with_families(alone, by_value)
    (prior, selection), target = sample.counted, manifest.target
    draws = [
        (draw.z, target.is_hit(draw.state.log_probs) and identity(draw.z) not in found.lost) for draw in prior
    ]
    return with_rates(
        group(zs, sources, origins, world.noun, None if world.form is VECTORS else known),
        zs,
        draws,
        (selection, sample.how_often.level),
        world.are_distinct,
    )


def _look_sentences(calibration: LookCalibration | None, n: int) -> tuple[str, ...]:
    """Why no look was compared; a calibration speaks for itself."""
    if calibration is None:
        return (f"{n} prior scenes are too few to compare presets, so every step is at the deciding preset.",)
    return ()


def _lineage(
    manifest: Manifest, scenes: Sequence[Hit], sample: PriorSample
) -> tuple[list[Hashable], list[Hashable]]:
    """The chain or random scene that each hit comes from, and the one that it started at."""
    index = {identity(draw.z): draw.index for draw in sample.draws}
    begun = {phase: _starts(manifest, phase, sample) for phase in {hit.record.phase for hit in scenes}}
    sources: list[Hashable] = []
    origins: list[Hashable] = []
    for record in (hit.record for hit in scenes):
        is_prior = record.phase in RANDOM
        line = int(record.figures.get("line", record.chain))  # where a resampled particle descends from
        sources.append((record.phase, record.index if is_prior else line))
        begin = (record.phase, record.index) if is_prior else (PRIOR, index[begun[record.phase][line]])
        if record.phase == LIKELY and identity(record.z) in index:  # the sample's draw, rendered before it
            begin = (PRIOR, index[identity(record.z)])
        origins.append(begin)
    return sources, origins


def _starts(manifest: Manifest, phase: str, sample: PriorSample) -> tuple[Hashable, ...]:
    """Where the chains of a phase started; empty for the prior batch."""
    options = manifest.query.search
    if phase == CHAIN:
        return tuple(identity(state.z) for state in _chain_starts(manifest, sample))
    if phase not in CONTROLS:
        return ()
    rank = CONTROLS.index(phase)
    levels = controls_of(sample, manifest.target, options)
    if rank >= len(levels):
        raise RunError(
            f"the run has draws of phase {phase}, for which its prior sample gives no easier target"
        )
    easier = levels[rank]
    return tuple(identity(state.z) for state in control_starts(rank, easier, options)[1])


def _chain_starts(manifest: Manifest, sample: PriorSample) -> tuple[State[Latent], ...]:
    return chain_starts(sample, manifest.query.search, manifest.world.are_distinct)


def _chains(manifest: Manifest, records: Sequence[Record], sample: PriorSample) -> list[Draw[Latent]]:
    options = manifest.query.search
    if not any(record.phase == CHAIN for record in records):
        return []
    return chain_draws(records, CHAIN, _chain_starts(manifest, sample), options.n_warmup)


def _control(manifest: Manifest, records: Sequence[Record], sample: PriorSample) -> str:
    """The outcome of the positive control in words; "" if none was run."""
    options, phases = manifest.query.search, {record.phase for record in records}
    if not options.control or CHAIN not in phases:
        return ""
    levels = controls_of(sample, manifest.target, options)
    tried = [(rank, easier) for rank, easier in enumerate(levels) if CONTROLS[rank] in phases]
    return (
        control_words([attempt_of(records, *item) for item in tried])
        if tried
        else ""
        if levels
        else NO_CONTROL
    )
