"""The results of a run, read from its folder alone: no model, no renderer."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trex.inference.chains import starts
from trex.inference.statistics.control import run_control
from trex.inference.statistics.gate import LEAST_SCENES
from trex.inference.statistics.how_often import HowOften
from trex.inference.statistics.verdict import MIN_CHAINS_HIT, MIN_ESS, Conclusion, Ending, conclude
from trex.inference.types import Draw, State
from trex.query.schema import SearchSection
from trex.runs.manifest import Manifest
from trex.runs.record import BANK, CALIBRATION, CHAIN, CONTROL, FRESH, PRIOR, Record
from trex.runs.replay import chain_draws
from trex.runs.world_of import world_of
from trex.search.calibration import Calibration
from trex.search.families import Families, Member, group
from trex.search.hits import Hits
from trex.search.prior_sample import PriorSample, prior_sample
from trex.search.search import CONTROL_SEED, calibration_of, chain_starts, control_of
from trex.search.trajectories import level_sentences, lines_left, trajectory_sentences
from trex.search.visibility_check import renderer_checks
from trex.worlds.latents import Latent, StoredLatent, from_stored, to_fields, to_stored

Blamed = Mapping[str, frozenset[Hashable]]
MOST_MISSES = 6
MISSES_LOOKED_AT = 1000  # most confident first; a chain may stay at one scene for long
NO_CONTROL = "No positive control could be run: the model scores nearly all prior draws alike."


@dataclass(frozen=True)
class Hit:
    """One hit: its true answer, and the model's answers, most probable first.

    `truth` is None if it is unknown, `is_wrong` None if it is unknown whether the model's answer is wrong.
    """

    record: Record
    truth: str | None
    answers: tuple[tuple[str, float], ...]
    confidence: float
    is_wrong: bool | None

    @property
    def answer(self) -> str:
        """The model's most probable answer."""
        return self.answers[0][0]

    @property
    def known_truth(self) -> str:
        """The true answer, in a world that always has one."""
        assert self.truth is not None, "this world knows no true answers"
        return self.truth


@dataclass(frozen=True)
class Results:
    """Everything that a report says about the draws; `found` and `fragile` are sorted by confidence in the target.

    `fragile` are the distinct hits that left the level set under fresh noise draws, most confident first. `prior` are
    the prior draws at the deciding look, `renders` the pictures at that look, `cheap` those of the bank and of the
    looks that led or might have led the chains.
    """

    how_often: HowOften
    conclusion: Conclusion
    found: tuple[Hit, ...]
    control: str
    remarks: tuple[str, ...]  # caveats of the world, whatever the hits
    checks: tuple[str, ...]  # on the renderer, computed from the draws
    prior: tuple[Draw[Latent], ...]
    chains: tuple[Draw[Latent], ...]
    renders: int
    proposals: int
    invalid: int
    accepted: int
    families: Families  # of `found`, in its order
    sample: PriorSample
    fragile: tuple[Hit, ...] = ()
    cheap: int = 0
    calibration: Calibration | None = None
    nearest: tuple[Hit, ...] = ()  # most confident misses of a run without hits

    @property
    def ending(self) -> str:
        """One of CONVERGED, FOUND and NOT FOUND."""
        return self.conclusion.ending.value


def read_results(manifest: Manifest, records: Sequence[Record], blamed: Blamed | None = None) -> Results:
    """The results of a run; needs at least one prior draw.

    `blamed` maps a hit's picture to the looks of its objects to blame, for hits that have been explained.
    """
    target, options = manifest.target, manifest.query.search
    sample = prior_sample(records, target, options)
    prior, how = sample.draws, sample.how_often
    chains = _chains(manifest, records, sample)
    summaries = world_of(manifest).summaries(manifest.resolved, prior[0].z)
    found = Hits(target, world_of(manifest).are_distinct, bool(manifest.query.render.fresh))
    found.add(records)
    renders = sum(_renders(manifest, record) for record in records)
    with np.errstate(divide="ignore", invalid="ignore"):  # a summary may be constant
        conclusion = conclude([*prior, *chains], target, summaries, how, renders)
    steps = [record for record in records if record.phase == CHAIN and not record.is_copy]
    scenes = _sorted(manifest, found.found)
    return Results(
        how_often=how,
        conclusion=_related(_honest(conclusion, found, chains, how, options), lines_left(records)),
        found=scenes,
        control="" if found.hits else _control(manifest, records, sample),
        remarks=world_of(manifest).remarks(manifest.resolved),
        checks=(
            *renderer_checks(manifest, records),
            *trajectory_sentences(records, chains, target, options),
            *level_sentences(records),
        ),
        prior=prior,
        chains=tuple(chains),
        renders=renders,
        proposals=len(steps),
        invalid=sum(not record.is_rendered and record.figures.get("is_moved", 1) == 1 for record in steps),
        accepted=sum(record.is_accepted for record in steps),
        families=group(_members(manifest, scenes, sample, blamed or {})),
        sample=sample,
        fragile=_sorted(manifest, found.fragile),
        cheap=sum(_cheap_renders(record) for record in records),
        calibration=_calibration(manifest, records, sample),
        nearest=() if found.hits else _nearest(manifest, records),
    )


def _renders(manifest: Manifest, record: Record) -> int:
    """The pictures that a record cost at the deciding look."""
    if not record.is_rendered or record.phase in (BANK, CALIBRATION):
        return 0
    render = manifest.query.render
    return (render.fresh or 0) if record.phase == FRESH else render.noise


def _cheap_renders(record: Record) -> int:
    """The pictures that a record cost at cheaper looks."""
    if record.phase in (BANK, CALIBRATION):
        return 1
    return int(record.figures.get("inner_renders", 0))


def _calibration(manifest: Manifest, records: Sequence[Record], sample: PriorSample) -> Calibration | None:
    """What is known of the looks that may lead; None for a search without a bank, or before its sample is whole."""
    query = manifest.query
    if not any(record.phase == BANK for record in records) or len(sample.draws) < LEAST_SCENES:
        return None
    return calibration_of(query, records, sample)[1]


def _members(manifest: Manifest, scenes: Sequence[Hit], sample: PriorSample, blamed: Blamed) -> list[Member]:
    """The hits with their origins."""
    index = {to_stored(draw.z): draw.index for draw in sample.draws}
    begun = {phase: _starts(manifest, phase, sample) for phase in {one.record.phase for one in scenes}}
    members = []
    for one in scenes:
        record = one.record
        is_prior = record.phase == PRIOR
        line = int(record.figures.get("line", record.chain))  # where a resampled particle descends from
        source: Hashable = (record.phase, record.index if is_prior else line)
        origin = record.index if is_prior else index[begun[record.phase][line]]
        members.append(Member(from_stored(record.z), source, origin, blamed.get(record.picture, frozenset())))
    return members


def _starts(manifest: Manifest, phase: str, sample: PriorSample) -> tuple[StoredLatent, ...]:
    """Where the chains of a phase started; empty for the prior batch."""
    options = manifest.query.search
    if phase == CHAIN:
        return tuple(to_stored(state.z) for state in _chain_starts(manifest, sample))
    easier = control_of(sample, manifest.target, options) if phase == CONTROL else None
    if easier is None:
        return ()
    first = starts(options.seed + CONTROL_SEED, easier.outside, options.chains)
    return tuple(to_stored(state.z) for state in first)


def _chain_starts(manifest: Manifest, sample: PriorSample) -> tuple[State[Latent], ...]:
    return chain_starts(sample, manifest.query.search, world_of(manifest).are_distinct)


def _chains(manifest: Manifest, records: Sequence[Record], sample: PriorSample) -> list[Draw[Latent]]:
    options = manifest.query.search
    if not any(record.phase == CHAIN for record in records):
        return []
    return chain_draws(records, CHAIN, _chain_starts(manifest, sample), options.warmup)


def _control(manifest: Manifest, records: Sequence[Record], sample: PriorSample) -> str:
    """The outcome of the positive control in words; "" if none was run."""
    options = manifest.query.search
    easier = control_of(sample, manifest.target, options)
    if not any(record.phase == CONTROL for record in records):
        is_missed = options.control and easier is None and any(record.phase == CHAIN for record in records)
        return NO_CONTROL if is_missed else ""
    assert easier is not None, "the control has draws, so it had starts"
    first = starts(options.seed + CONTROL_SEED, easier.outside, options.chains)
    draws = chain_draws(records, CONTROL, first, 0)
    return run_control(lambda _target, _draws: draws, easier).sentence


def _honest(
    conclusion: Conclusion,
    found: Hits,
    chains: Sequence[Draw[Latent]],
    how: HowOften,
    options: SearchSection,
) -> Conclusion:
    """Correct the conclusion in three cases that its rules do not cover.

    Hits that all leave the level set under fresh noise draws are no finding. A latent that was proposed, rendered and
    scored is an example even if it never became a state; and a search that ran no chain has none to judge.
    """
    if found.fragile and not found.found:
        return replace(
            conclusion, ending=Ending.NOT_FOUND, sentences=(_none_survives(found, how),), best=found.best
        )
    if conclusion.ending is Ending.NOT_FOUND and found.hits:
        words = f"FOUND: {found.hits} proposals are in the level set, none became a chain's state."
        return replace(
            conclusion, ending=Ending.FOUND, sentences=(words,), n_hits=found.hits, best=found.best
        )
    if conclusion.ending is Ending.FOUND and not chains:
        return replace(conclusion, sentences=(conclusion.sentences[0], _no_chain(found, how, options)))
    return conclusion


def _related(conclusion: Conclusion, lines: int | None) -> Conclusion:
    """Correct the conclusion for particles of few starts: copies of one particle agree wherever it is.

    `lines` is how many starts they descend from, None for chains, of which each has its own.
    """
    if lines is None or lines >= MIN_CHAINS_HIT or conclusion.ending is not Ending.CONVERGED:
        return conclusion
    words = (
        f"FOUND: {conclusion.n_hits} draws are in the level set. Valid as examples, not as a distribution.",
        f"Not converged: the particles that hit descend from {lines} starts ({MIN_CHAINS_HIT} are needed).",
    )
    return replace(conclusion, ending=Ending.FOUND, sentences=words)


def _none_survives(found: Hits, how: HowOften) -> str:
    n = len(found.fragile)
    words = "1 distinct hit was" if n == 1 else f"{n} distinct hits were"
    return (
        f"NOT FOUND: {words} in the level set once and left it under fresh noise draws, so what was found there is "
        f"noise of the renderer. With its noise, it happens in {how.said.figure} of all prior draws."
    )


def _no_chain(found: Hits, how: HowOften, options: SearchSection) -> str:
    """Why no chain was run; the reasons are in the order in which a search decides."""
    if 0 < options.stop_when_found <= len(found.found):
        return "No chain was run: the prior draws already held what was asked for."
    if how.is_common:
        return (
            f"No chain was run: the target is common, but the effective size of {how.n} prior draws is only "
            f"{how.ess:.1f} ({MIN_ESS:.0f} are needed for them to stand for all of it); raise search.prior_scenes."
        )
    if options.steps == 0:
        return "No chain was run: the query asks for none (search.steps = 0)."
    return "No chain has been run yet."


def _sorted(manifest: Manifest, records: Sequence[Record]) -> tuple[Hit, ...]:
    scenes = [_found(manifest, record) for record in records]
    return tuple(sorted(scenes, key=lambda scene: -scene.confidence))


def _nearest(manifest: Manifest, records: Sequence[Record]) -> tuple[Hit, ...]:
    """The distinct rendered latents closest to the level set."""
    target = manifest.target
    there = [one for one in records if one.is_rendered and one.phase in (PRIOR, CHAIN, CONTROL)]
    scored = [(target.confidence(np.array(one.log_probs)), one) for one in there]
    to_stored: list[Hit] = []
    for _, record in sorted(scored, key=lambda pair: -pair[0])[:MISSES_LOOKED_AT]:
        z = from_stored(record.z)
        if all(world_of(manifest).are_distinct(z, from_stored(other.record.z)) for other in to_stored):
            to_stored.append(_found(manifest, record))
        if len(to_stored) == MOST_MISSES:
            break
    return tuple(to_stored)


def _found(manifest: Manifest, record: Record) -> Hit:
    labels, probs = manifest.facts.labels, record.probs
    order = sorted(range(len(labels)), key=lambda k: -probs[k])
    judged = world_of(manifest).judge(manifest.resolved, from_stored(record.z), labels[order[0]])
    return Hit(
        record=record,
        truth=judged.truth,
        answers=tuple((labels[k], probs[k]) for k in order),
        confidence=manifest.target.confidence(np.array(record.log_probs)),
        is_wrong=judged.is_wrong,
    )


def to_json(findings: Results) -> str:
    """The results as JSON."""
    how = findings.how_often
    data: Mapping[str, object] = {
        "ending": findings.ending,
        "sentences": [*findings.conclusion.sentences, *filter(None, [findings.control]), *findings.remarks],
        "how_often": {
            "prior_draws": how.n, "hits": how.hits, "rate": how.said.point, "interval_95": list(how.rate_interval),
            "says": how.said.figure, "mass": how.mass.value if how.says_mass else None, "is_common": how.is_common,
        },
        "renders": findings.renders,
        "cheap_renders": findings.cheap,
        "best_confidence": findings.conclusion.best,
        "proposals": findings.proposals,
        "invalid": findings.invalid,
        "accepted": findings.accepted,
        "families": findings.families.count,
        "sources": findings.families.source_count,
        "found": [_scene_json(findings, place) for place in range(len(findings.found))],
        "fragile": [_hit_json(hit) for hit in findings.fragile],
    }  # fmt: skip
    return json.dumps(data, indent=1) + "\n"


def _scene_json(findings: Results, place: int) -> Mapping[str, object]:
    family, source = findings.families.numbers[place], findings.families.sources[place]
    return {"family": family, "source": source, **_hit_json(findings.found[place])}


def _hit_json(found: Hit) -> Mapping[str, object]:
    record = found.record
    return {
        "phase": record.phase, "chain": record.chain, "index": record.index,
        "true_answer": found.truth, "model_answer": found.answer, "confidence": found.confidence,
        "probabilities": {answer: p for answer, p in found.answers if p >= 1e-4},
        "picture": f"pictures/{record.picture}.png" if record.picture else "",
        **to_fields(record.z),
    }  # fmt: skip
