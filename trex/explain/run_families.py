"""`families.json`: what the model misreads in the hits of a run, and when; and the results with these families.

They are made after the search from its traces and explanations, and read with the draws from then on: reading them
takes no facts of scenes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trex.explain.explanation import Explanation
from trex.explain.stored import read_explanations
from trex.explain.traces import Traces, failures_of, half_of, read_traces, unexplained, wrong_others
from trex.families.cases import Case, could_fail, families_of, judged
from trex.families.discover import Situation, conditions_of
from trex.families.family import Family, Judged
from trex.families.one_question import MOST_TOGETHER, OneQuestion, Shows
from trex.families.pattern import Pattern
from trex.families.symptom import DECIDES, RESPONSIBLE, Failure, Symptom
from trex.foundation.codec import Codec
from trex.foundation.errors import RunError
from trex.foundation.json_fields import short
from trex.foundation.progress import Progress
from trex.foundation.words import quoted
from trex.inference.statistics.two_phase import Selection
from trex.runs.folder import RunFolder
from trex.runs.manifest import Manifest
from trex.runs.record import BANK, PRIOR, Record
from trex.scenes.conditions import Condition, Level
from trex.scenes.graph import Facts, facts_of, gap
from trex.scenes.questions.answers import is_same
from trex.scenes.scene import Scene, scene_id
from trex.scenes.vocabulary import Vocabulary
from trex.search.hit import Hit
from trex.search.results import Results, read_results

FILE = "families.json"
FORMAT: Literal[3] = 3
FAR = 6.0  # Blender units: the ground's width, for an object by itself
COHORT = 400  # plain prior scenes that failures are held against


Point = tuple[float, float]  # of an object: visible share, and gap to the nearest other one, Blender units


@dataclass(frozen=True)
class Plane:
    """Objects of prior scenes that could fail as a family says, those that did, and those misread in its scenes."""

    prior: tuple[Point, ...]
    failed: tuple[Point, ...]
    members: tuple[Point, ...]


@dataclass(frozen=True)
class StoredFamily:
    """A family: its symptom, conditions by key, what its units were and were taken for, its scenes (`scene_id`).

    `shares`: those of objects, by which other scenes judged it. Files of formats 1 and 2 are made anew: they have
    conditions, and shares, that may say nothing but what the question is about.
    """

    level: Level
    what: str
    conditions: tuple[str, ...]
    became: tuple[tuple[str, str, int], ...]
    scenes: tuple[str, ...]
    clusters: int
    is_clear: bool
    often: tuple[str, int] | None = None
    usual: tuple[int, int] | None = None
    shares: Judged | None = None
    plane: Plane | None = None


@dataclass(frozen=True)
class StoredFamilies:
    """The families, and what they were made from (`known_parts`); None in files of before."""

    families: tuple[StoredFamily, ...]
    parts: tuple[int, int] | None = None
    format: Literal[1, 2, 3] = FORMAT


CODEC = Codec(StoredFamilies)


def explained_results(folder: RunFolder, records: Sequence[Record]) -> Results:
    """The results of a run, whose hits are in the families that are known of them."""
    found = _read(folder)
    if found is None:
        return read_results(folder.manifest, records)
    vocabulary = folder.manifest.vocabulary
    return read_results(folder.manifest, records, lambda hits: _families(found, hits, vocabulary))


def _read(folder: RunFolder) -> StoredFamilies | None:
    """The stored families; of an older format, what their conditions and shares say is left out."""
    remedy = f"delete it, then: trex resume {quoted(folder.path)}"
    found = CODEC.read(folder.path / FILE, remedy, inside=folder.path)
    if found is None or found.format == FORMAT:
        return found
    return replace(
        found, families=tuple(replace(each, is_clear=False, shares=None) for each in found.families)
    )


def is_described(folder: RunFolder, found: Sequence[Hit]) -> bool:
    """Whether the families of a run are made from all that is known of its hits, also after a kill."""
    stored = _read(folder)
    return stored is not None and stored.format == FORMAT and stored.parts == known_parts(folder, found)


def known_parts(folder: RunFolder, found: Sequence[Hit]) -> tuple[int, int]:
    """How many traces and how many failures of these hits a run knows: what its families are made from."""
    traces, explanations = read_traces(folder), read_explanations(folder)
    failures = [_failure(hit, traces, explanations) for hit in found]
    return len(traces.hits) + len(traces.others), len(failures) - failures.count(None)


def describe(folder: RunFolder, records: Sequence[Record], progress: Progress) -> None:
    """Write the families of a run's hits from its traces and explanations."""
    results = read_results(folder.manifest, records)
    traces, explanations = read_traces(folder), read_explanations(folder)
    if results.found and (traces.hits or explanations):
        progress("families", 0, 1)
        made = _described(folder, records, results, traces, explanations)
        folder.write(FILE, CODEC.text(replace(made, parts=known_parts(folder, results.found))))
        progress("families", 1, 1)


def _described(
    folder: RunFolder,
    records: Sequence[Record],
    results: Results,
    traces: Traces,
    explanations: Mapping[str, Explanation],
) -> StoredFamilies:
    vocabulary = folder.manifest.vocabulary
    conditions = conditions_of(vocabulary)

    def situation(scene: Scene, failures: Sequence[Failure] = (), is_untraced: bool = False) -> Situation:
        return Situation(facts_of(scene, vocabulary), failures, conditions, is_untraced=is_untraced)

    cases = []
    for place, (hit, cluster) in enumerate(zip(results.found, results.families.clusters, strict=True)):
        failure = _failure(hit, traces, explanations)
        if failure is not None:
            cases.append(Case(situation(hit.record.scene), failure, cluster, place))
    unclear = unexplained(folder.manifest, results, traces)
    plain = [(scene_id(z), z) for z in _plain_prior(records)]
    cohort = [situation(z, traces.explained(name), name in unclear) for name, z in plain]
    chosen, selection = wrong_others(folder.manifest, results)
    known = {
        place: situation(draw.z, failures)
        for place, draw in chosen
        if (failures := failures_of(draw.z, traces))
    }
    halves = [
        {k: known[k] for k, draw in chosen if k in known and half_of(folder.manifest, draw.z) == h}
        for h in (0, 1)
    ]
    thinned = Selection(selection.members, selection.inclusion / 2)
    question = _question(folder.manifest, cases)
    tries = [
        _judged_families(cases, made, judges, thinned, cohort, question)
        for made, judges in (halves, halves[::-1])
    ]
    best = max(tries, key=_confirmed)
    traced = list(known.values())
    return StoredFamilies(
        tuple(_stored(each, results.found, _plane(each, cases, traced, cohort)) for each in best)
    )


@dataclass(frozen=True)
class Showing:
    """Which misreadings a run's question shows: those that make a hit of a scene, and another wrong answer."""

    vocabulary: Vocabulary
    hit: Shows
    other: Shows
    together: int = 1


def showing_of(question: OneQuestion, sought: Sequence[str], vocabulary: Vocabulary) -> Showing:
    """The question, in a run whose hits are the `sought` answers where these are wrong."""

    def is_sought(answer: str) -> bool:
        return any(is_same(answer, each) for each in sought)

    hit, other = question.shows(is_sought), question.shows(lambda answer: not is_sought(answer))
    return Showing(vocabulary, hit, other, question.together)


def _question(manifest: Manifest, cases: Sequence[Case]) -> Showing:
    """The run's question, with as many misreadings together as the first of its hits need."""
    program, vocabulary, sought = manifest.question.program, manifest.vocabulary, manifest.query.answer
    for together in range(1, MOST_TOGETHER + 1):
        showing = showing_of(OneQuestion(program, vocabulary, together), sought, vocabulary)
        if any(_is_shown(case, showing.hit) for case in cases):
            return showing
    return showing_of(OneQuestion(program, vocabulary), sought, vocabulary)


def _is_shown(case: Case, shows: Shows) -> bool:
    failure = case.failure
    return bool(shows(case.scene.facts, failure.symptom, failure.value)[failure.unit])


def _judged_families(
    cases: Sequence[Case],
    made: Mapping[int, Situation],
    judges: Mapping[int, Situation],
    selection: Selection,
    cohort: Sequence[Situation],
    showing: Showing,
) -> list[Family]:
    """The families of the hits and of one half of the other wrong answers, judged by the other half.

    Of the others, those help to make rules that could have been hits. Judged are units whose misreading gives another
    wrong answer or, if more of them could, those that could be hits: for each of either kind it is as likely to show.
    Where several misreadings are needed for a hit, nothing is judged.
    """
    more = [Case(scene, each, ("prior", place)) for place, scene in made.items() for each in scene.failures]
    more = [case for case in more if _is_shown(case, showing.hit)]
    such = {shows: [scene.showing(shows) for scene in cohort] for shows in (showing.other, showing.hit)}
    untraced = (RESPONSIBLE, DECIDES)  # what others misread says nothing of these
    found = []
    for family in families_of([*cases, *more], such[showing.hit], showing.vocabulary):
        if judges and showing.together == 1 and family.symptom not in untraced:
            shows = max(such, key=lambda each: sum(could_fail(family, scene).sum() for scene in such[each]))
            others = {place: scene.showing(shows) for place, scene in judges.items()}
            family = replace(family, judged=judged(family, others, selection, such[shows]))
        found.append(family)
    return found


def _confirmed(families: Sequence[Family]) -> tuple[int, int, float]:
    """How many hits the confirmed families hold, and the established ones; how far the first one's shares are apart."""
    first = families[0].judged if families else None
    return (
        sum(family.size for family in families if family.judged and family.judged.is_confirmed),
        sum(family.size for family in families if family.is_established),
        first.inside.low - first.outside.high if first else 0.0,
    )


def read_planes(folder: RunFolder) -> list[tuple[StoredFamily, Plane]]:
    """The families whose misread objects can be shown in a plane."""
    found = _read(folder)
    return [(each, each.plane) for each in found.families if each.plane] if found else []


def _plane(
    family: Family,
    cases: Sequence[Case],
    traced: Sequence[Situation],
    cohort: Sequence[Situation],
) -> Plane | None:
    if family.symptom.level != "object":
        return None
    units = {case.place: _point(case.scene.facts, case.failure.unit) for case in cases if case.place >= 0}
    return Plane(
        tuple(
            _point(scene.facts, int(i)) for scene in cohort for i in np.flatnonzero(could_fail(family, scene))
        ),
        tuple(
            _point(scene.facts, failure.unit)
            for scene in traced
            for failure in scene.failures
            if family.covers(failure.symptom, failure.value)
        ),
        tuple(units[place] for place in family.members),
    )


def _point(facts: Facts, index: int) -> Point:
    items = facts.scene.objects
    gaps = [gap(items[index], other) for k, other in enumerate(items) if k != index]
    return round(facts.shares[index], 4), round(min(gaps, default=FAR), 4)


def _failure(hit: Hit, traces: Traces, explanations: Mapping[str, Explanation]) -> Failure | None:
    """What the model misreads in a hit; else the object without which it is right; None if neither is known."""
    traced = traces.hits.get(scene_id(hit.record.scene))
    if traced is not None and traced.failures:
        return traced.failures[0]
    explanation = explanations.get(hit.record.picture)
    if explanation is None or explanation.chief is None:
        return None
    if explanation.compared != "truth":
        return Failure(DECIDES, explanation.chief, "", "")
    if explanation.removals[explanation.chief].score.answer == explanation.control.score.answer:
        return None  # the truth has changed and not the model, which may look at no object at all
    return Failure(RESPONSIBLE, explanation.chief, "", "")


def misread_object(hit: Hit, traces: Traces, explanations: Mapping[str, Explanation]) -> int | None:
    """The object that the model misreads in a hit, else the one responsible; None if neither is known."""
    traced, explanation = traces.hits.get(scene_id(hit.record.scene)), explanations.get(hit.record.picture)
    units = [each.unit for each in traced.failures if each.symptom.level == "object"] if traced else []
    return units[0] if units else None if explanation is None else explanation.chief


def _plain_prior(records: Sequence[Record]) -> list[Scene]:
    """The first COHORT prior scenes that no model's answer has chosen: the bank's, or the prior draws without one."""
    bank = [record.scene for record in records if record.phase == BANK and record.rank == 0]
    plain = bank or [record.scene for record in records if record.phase == PRIOR]
    return plain[:COHORT]


def _stored(family: Family, found: Sequence[Hit], plane: Plane | None) -> StoredFamily:
    return StoredFamily(
        level=family.symptom.level,
        what=family.symptom.what,
        conditions=tuple(each.key for each in family.pattern.conditions),
        became=family.became,
        scenes=tuple(scene_id(found[place].record.scene) for place in family.members),
        clusters=family.clusters,
        is_clear=family.is_clear,
        often=None if family.often is None else (family.often[0].key, family.often[1]),
        usual=family.usual,
        shares=family.judged,
        plane=plane,
    )


def _families(stored: StoredFamilies, found: Sequence[Hit], vocabulary: Vocabulary) -> list[Family]:
    """The stored families with those of their scenes that are still hits; one without any is left out."""
    place = {scene_id(hit.record.scene): k for k, hit in enumerate(found)}
    families = []
    for each in stored.families:
        members = tuple(sorted(place[scene] for scene in each.scenes if scene in place))
        if members:
            families.append(_family(each, members, vocabulary))
    return families


def _family(stored: StoredFamily, members: tuple[int, ...], vocabulary: Vocabulary) -> Family:
    known = {condition.key: condition for condition in conditions_of(vocabulary)[stored.level]}
    often = stored.often
    return Family(
        Pattern.of(_condition(key, known) for key in stored.conditions),
        Symptom(stored.level, stored.what),
        stored.became,
        members=members,
        clusters=stored.clusters,
        often=(_condition(often[0], known), often[1]) if often else None,
        is_clear=stored.is_clear,
        usual=stored.usual,
        judged=stored.shares,
    )


def _condition(key: str, known: Mapping[str, Condition]) -> Condition:
    """The condition with this key; RunError if this version has none."""
    if key not in known:
        raise RunError(
            f"{FILE} names a condition {short(key)} that this version does not know; delete the file"
        )
    return known[key]
