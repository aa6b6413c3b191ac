"""The results of a run, read from its folder alone: no model, no renderer."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trex.inference.chains import starts
from trex.inference.statistics.control import run_control
from trex.inference.statistics.importance import HowOften
from trex.inference.statistics.verdict import MIN_ESS, Conclusion, Ending, conclude
from trex.inference.types import Draw
from trex.query.schema import SearchSection
from trex.runs.manifest import Manifest
from trex.runs.record import CHAIN, CONTROL, PRIOR, Record
from trex.runs.replay import chain_draws, prior_draws
from trex.runs.world_of import world_of
from trex.search.families import Families, Member, group
from trex.search.hits import Hits
from trex.search.search import CONTROL_SEED, chain_starts, control_of, decide
from trex.search.trajectories import trajectory_sentences
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
    """Everything that a report says about the draws; `found` is sorted by confidence in the target."""

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
    prior = prior_draws(records)
    how = decide(prior, target, options)
    chains = _chains(manifest, records, prior)
    renders = sum(record.is_rendered for record in records)
    summaries = world_of(manifest).summaries(manifest.resolved, prior[0].z)
    found = Hits(target, world_of(manifest).are_distinct)
    found.add(records)
    with np.errstate(divide="ignore", invalid="ignore"):  # a summary may be constant
        conclusion = conclude([*prior, *chains], target, summaries, how, renders)
    steps = [record for record in records if record.phase == CHAIN]
    scenes = _sorted(manifest, found.records)
    return Results(
        how_often=how,
        conclusion=_honest(conclusion, found, chains, how, options),
        found=scenes,
        control="" if found.hits else _control(manifest, records, prior),
        remarks=world_of(manifest).remarks(manifest.resolved),
        checks=(
            *renderer_checks(manifest, records),
            *trajectory_sentences(records, chains, target, options),
        ),
        prior=tuple(prior),
        chains=tuple(chains),
        renders=renders,
        proposals=len(steps),
        invalid=sum(not record.is_rendered for record in steps),
        accepted=sum(record.is_accepted for record in steps),
        families=group(_members(manifest, scenes, prior, blamed or {})),
        nearest=() if found.hits else _nearest(manifest, records),
    )


def _members(
    manifest: Manifest, scenes: Sequence[Hit], prior: Sequence[Draw[Latent]], blamed: Blamed
) -> list[Member]:
    """The hits with their origins."""
    index = {to_stored(draw.z): draw.index for draw in prior}
    begun = {phase: _starts(manifest, phase, prior) for phase in {one.record.phase for one in scenes}}
    members = []
    for one in scenes:
        record = one.record
        is_prior = record.phase == PRIOR
        source: Hashable = (record.phase, record.index if is_prior else record.chain)
        origin = record.index if is_prior else index[begun[record.phase][record.chain]]
        members.append(Member(from_stored(record.z), source, origin, blamed.get(record.picture, frozenset())))
    return members


def _starts(manifest: Manifest, phase: str, prior: Sequence[Draw[Latent]]) -> tuple[StoredLatent, ...]:
    """Where the chains of a phase started; empty for the prior batch."""
    options = manifest.query.search
    if phase == CHAIN:
        return tuple(to_stored(state.z) for state in chain_starts(prior, options))
    easier = control_of(prior, manifest.target, options) if phase == CONTROL else None
    if easier is None:
        return ()
    first = starts(options.seed + CONTROL_SEED, easier.outside, options.chains)
    return tuple(to_stored(state.z) for state in first)


def _chains(manifest: Manifest, records: Sequence[Record], prior: list[Draw[Latent]]) -> list[Draw[Latent]]:
    options = manifest.query.search
    if not any(record.phase == CHAIN for record in records):
        return []
    return chain_draws(records, CHAIN, chain_starts(prior, options), options.warmup)


def _control(manifest: Manifest, records: Sequence[Record], prior: list[Draw[Latent]]) -> str:
    """The outcome of the positive control in words; "" if none was run."""
    options = manifest.query.search
    easier = control_of(prior, manifest.target, options)
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
    """Correct the conclusion in two cases that its rules do not cover.

    A latent that was proposed, rendered and scored is an example even if it never became a state; and a search that
    ran no chain has none to judge.
    """
    if conclusion.ending is Ending.NOT_FOUND and found.hits:
        words = f"FOUND: {found.hits} proposals are in the level set, none became a chain's state."
        return replace(
            conclusion, ending=Ending.FOUND, sentences=(words,), n_hits=found.hits, best=found.best
        )
    if conclusion.ending is Ending.FOUND and not chains:
        return replace(conclusion, sentences=(conclusion.sentences[0], _no_chain(found, how, options)))
    return conclusion


def _no_chain(found: Hits, how: HowOften, options: SearchSection) -> str:
    """Why no chain was run; the reasons are in the order in which a search decides."""
    if 0 < options.stop_when_found <= len(found.records):
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
    scored = [(target.confidence(np.array(one.log_probs)), one) for one in records if one.is_rendered]
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
            "says": how.said.figure, "mass": how.mass if how.says_mass else None, "is_common": how.is_common,
        },
        "renders": findings.renders,
        "best_confidence": findings.conclusion.best,
        "proposals": findings.proposals,
        "invalid": findings.invalid,
        "accepted": findings.accepted,
        "families": findings.families.count,
        "sources": findings.families.source_count,
        "found": [_scene_json(findings, place) for place in range(len(findings.found))],
    }  # fmt: skip
    return json.dumps(data, indent=1) + "\n"


def _scene_json(findings: Results, place: int) -> Mapping[str, object]:
    found = findings.found[place]
    record = found.record
    return {
        "family": findings.families.numbers[place], "source": findings.families.sources[place],
        "phase": record.phase, "chain": record.chain, "index": record.index,
        "true_answer": found.truth, "model_answer": found.answer, "confidence": found.confidence,
        "probabilities": {answer: p for answer, p in found.answers if p >= 1e-4},
        "picture": f"pictures/{record.picture}.png" if record.picture else "",
        **to_fields(record.z),
    }  # fmt: skip
