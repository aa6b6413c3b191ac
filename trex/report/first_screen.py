"""The first screen of a page, a terminal, a notebook and `findings.json`: what the model does wrong, and how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trex.curves.options import CurveOptions
from trex.explain.explanation import Explanation
from trex.explain.traces import Traces
from trex.families.family import Family, clear_value
from trex.families.lineage import Families
from trex.families.pattern import predicate
from trex.foundation.words import capitalized, counted, percent, quoted
from trex.inference.statistics.dose_response import shows_a_side
from trex.inference.statistics.how_often import rate_words
from trex.inference.statistics.verdict import Ending
from trex.inference.targets.own import Scored
from trex.report.proof import misread_parts, telling, tells_truth
from trex.runs.manifest import Manifest
from trex.scenes.conditions import Condition
from trex.scenes.scene import scene_id
from trex.search.hit import Hit
from trex.search.judging.headline import goal_words, headline
from trex.search.results import Results
from trex.trials.holds import Holds
from trex.worlds.latents import SCENES

Tone = Literal["bad", "good", "open"]
ALSO = 3  # further families that are named


@dataclass(frozen=True)
class FirstScreen:
    """What a person reads first.

    `what` the model does wrong, in one sentence; `evidence` for it; `also`: other families; `how_often` in random
    scenes; `how_far` it holds under other noise, quality and views, "" if that was not measured; `then` what can be
    done, each with its command.
    """

    what: str
    evidence: tuple[str, ...]
    also: tuple[str, ...]
    how_often: str
    how_far: str
    then: tuple[tuple[str, str], ...]

    @property
    def lines(self) -> list[str]:
        """The screen as lines of text."""
        return [self.what, *self.details, *(f"{words}: {command}" for words, command in self.then)]

    @property
    def details(self) -> list[str]:
        """The lines between what the model does wrong and what can be done."""
        far = [self.how_far] if self.how_far else []
        also = [f"Also: {words}" for words in self.also]
        return [*self.evidence, f"How often: {self.how_often}", *far, *also]

    def document(self) -> Mapping[str, object]:
        """The screen for machines."""
        return {
            "what": self.what,
            "evidence": list(self.evidence),
            "also": list(self.also),
            "how_often": self.how_often,
            "how_far": self.how_far,
            "next": [{"words": words, "command": command} for words, command in self.then],
        }


def first_screen(
    manifest: Manifest,
    results: Results,
    run: Path,
    holds: Holds,
    traces: Traces,
    explanations: Mapping[str, Explanation],
) -> FirstScreen:
    """The first screen of a run.

    `holds` are those of the scenes that the page shows first; `explanations` are by the explained picture.
    """
    traced = [family for family in results.families.known if family.is_traced]
    sure = [family for family in traced if not family.is_tentative]
    told = f"The model {goal_words(manifest)}: " if results.found else ""
    return FirstScreen(
        what=_what(sure[0], results) if sure else told + headline(manifest, results),
        evidence=tuple(
            filter(None, [_sure(manifest, results, holds), *_evidence(results, sure, traces, explanations)])
        ),
        also=_also(sure[:1], [family for family in traced if family not in sure[:1]], len(results.found)),
        how_often=f"{capitalized(rate_words(results.how_often.rate, manifest.world.noun.many, is_short=True))}.",
        how_far=holds.sentence() if results.found else "",
        then=_then(manifest, results, run),
    )


def _what(family: Family, results: Results) -> str:
    return family.wrongly(clear_value(results.found[place].answer for place in family.members))


def tone(results: Results) -> Tone:
    """The color of the outcome: "good" only if every hit's answer is known to be right, "bad" if one is wrong."""
    if results.conclusion.ending is Ending.NOT_FOUND or not results.found:
        return "open"
    judged = [found.is_wrong for found in results.found]
    return "bad" if True in judged else "good" if all(item is False for item in judged) else "open"


def _sure(manifest: Manifest, results: Results, holds: Holds) -> str:
    """In how many scenes the model is wrong, and how sure it is; the best confidence without a hit."""
    n, noun = len(results.found), manifest.world.noun
    if not n:
        return f"The best confidence{_meant(manifest)} was {percent(results.conclusion.best)}."
    if not manifest.query.target.declared.is_sure:
        return f"The confidence in the target{_meant(manifest)} is {_range([hit.confidence for hit in results.found])}."
    wrong = sum(hit.is_wrong is True for hit in results.found)
    every = f"In the {noun.one} found" if n == 1 else f"In all {n} {noun.many} found"
    some = every if wrong in (0, n) else f"In {wrong} of {n} {noun.many} found"
    sure = _averaged(results.found, holds)
    if wrong:
        return f"{some} the answer is wrong, and the model is {sure}."
    return f"{every} the model is {sure}."


def _meant(manifest: Manifest) -> str:
    """What the confidence in a target of the user's own is, in brackets."""
    statistic = manifest.target.statistic
    return f" ({statistic.confidence_words})" if isinstance(statistic, Scored) else ""


def _averaged(found: Sequence[Hit], holds: Holds) -> str:
    """How sure the model is: over noise that has decided nothing, where that was rendered; else in the hits' pictures.

    Those that decided would say too much: they were asked until they said that the hit stays.
    """
    later = [holds.sure[hit.record.picture] for hit in found if hit.record.picture in holds.sure]
    if not later:
        return f"{_range([hit.answers[0][1] for hit in found])} sure of its answer in these pictures"
    of = "" if len(later) == len(found) else f" in the {len(later)} most confident"
    return f"{_range(later)} sure of its answer{of}, averaged over new render noise"


def _range(values: Sequence[float]) -> str:
    low, high = percent(min(values)), percent(max(values))
    return low if low == high else f"{low} to {high}"


def _evidence(
    results: Results, traced: Sequence[Family], traces: Traces, explanations: Mapping[str, Explanation]
) -> list[str]:
    """What speaks for the first family, and how many hits it holds of how many starts."""
    if not traced:
        if results.found and traces.closed:
            return [f"What it misreads is not known, as {traces.closed}."]
        return []
    first, families = traced[0], results.families
    n = len(results.found)
    shows = "shows" if first.size == 1 else "show"
    texts = [f"{first.size} of the {n} {first.noun.many} {shows} this mistake."] if first.size < n else []
    texts.append(first.evidence)
    if first.often:
        texts.append(_often(*first.often, first.size))
    texts += _left_out(results, traces, explanations)
    if n > 1 and families.cluster_count < n:
        texts.append(_starts(families, n, first.noun.many))
    return texts


def _often(condition: Condition, n: int, size: int) -> str:
    if condition.part == "scene":
        return f"{n} of the {size} occur {condition.words}."
    return f"In {n} of the {size} it {predicate(condition.words)}."


def _left_out(results: Results, traces: Traces, explanations: Mapping[str, Explanation]) -> list[str]:
    """In how many of the explained wrong hits the model is right without an object that it does not misread.

    In each it is the one of all whose removal helps most. That it causes the mistake is not said: where removing any
    object often helped, one of several would do so in most scenes.
    """
    n = right = seen = 0
    for hit in results.found:
        explanation = explanations.get(hit.record.picture)
        if hit.is_wrong and hit.scene and explanation and tells_truth(explanation):
            traced = traces.hits.get(scene_id(hit.scene))
            misread = misread_parts(traced.failures) if traced else ()
            effect = telling(explanation, misread)
            n += 1
            seen += bool(misread)
            right += effect is not None and effect.edits[0].index not in misread
    if not right:
        return []
    scenes = "In the scene explained" if n == 1 else f"In {right} of {n} scenes"
    return [f"{scenes}, removing one {'other object' if seen else 'object'} makes the model right."]


def _starts(families: Families, n: int, many: str) -> str:
    return f"The {n} {many} come from {counted(families.cluster_count, 'independent start')}."


def _also(first: Sequence[Family], others: Sequence[Family], n: int) -> tuple[str, ...]:
    """The other families, with how many of the hits they hold; the `first` one's mistake elsewhere is said to be so."""
    misread = [known for known in first if known.symptom.level == "object"]
    same = {known.anywhere.words for known in misread} - {known.words for known in misread}
    texts = [
        f"{family.words.removesuffix('.')}{' elsewhere' if family.words in same else ''} ({family.size} of {n})."
        for family in others[:ALSO]
    ]
    more = len(others) - ALSO
    return (*texts, *([f"{counted(more, 'more family', 'more families')}."] if more > 0 else []))


def _then(manifest: Manifest, results: Results, run: Path) -> tuple[tuple[str, str], ...]:
    """What can be done next with a run that found something."""
    if not results.found:
        return ()
    steps = []
    if manifest.world.form is SCENES:
        starts = len(set(results.families.clusters[: CurveOptions.model_fields["scenes"].default]))
        if results.families.known and results.families.known[0].is_traced and shows_a_side(starts):
            over = _deciding(results.families.known[0])
            steps.append(
                (
                    f"See at which {QUANTITIES[over]} the model is right",
                    f"trex curve {quoted(run)} --over {over}",
                )
            )
        steps.append(("Change every attribute too", f"trex explain {quoted(run)}"))
        if any(hit.is_wrong for hit in results.found):
            steps.append(("Keep the scenes as a regression test", f"trex suite add {quoted(run)} --to suite"))
        steps.append(("Take the scenes along", f"trex export {quoted(run)}"))
    return tuple(steps)


# The quantities of `trex curve` in words.
QUANTITIES = {
    "distance": "distance", "visible": "visible share", "objects": "number of objects", "light": "light",
    "size": "size",
}  # fmt: skip


def _deciding(family: Family) -> str:
    """The quantity of `trex curve` that a family's conditions are about."""
    keys = [condition.key.split()[0] for condition in family.pattern.conditions]
    about = {"touches": "distance", "beside": "distance", "objects": "objects", "key": "light", "far": "size"}
    return next((about[key] for key in keys if key in about), "visible")
