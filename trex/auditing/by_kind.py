"""By kind of question and mistake: how right and sure a model is, and what no scene shows, with a bound on its rate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trex.auditing.judging.findings import FALSE_SHARE
from trex.auditing.judging.membership import failures_of
from trex.auditing.records import Answer, Examined
from trex.families.symptom import PHANTOM, wrong_kinds, wrong_words
from trex.foundation.errors import InputError
from trex.foundation.words import capitalized, percent_span
from trex.inference.statistics.clustered import clustered_share
from trex.inference.statistics.discoveries import discoveries, excess_p_value
from trex.inference.statistics.proportion import Proportion
from trex.scenes.graph import Facts
from trex.scenes.misreading import ATTRIBUTE_KINDS, MIRRORS
from trex.scenes.questions.families import FAMILIES

ALL = "all questions"
CHANCE = 0.05  # that a bound is too low
MISREADINGS = {
    "missed": "An object is missed",
    "doubled": "An object is counted twice",
    **{kind: f"An object's {kind} is misread" for kind in ATTRIBUTE_KINDS},
    **{what: f"{capitalized(what)} are confused" for what in MIRRORS},
    PHANTOM: "An object is seen that is not there",
}


@dataclass(frozen=True)
class Row:
    """Questions of one kind: right answers, confident mistakes, the mean confidence, and whether mistakes stand out."""

    what: str
    right: Proportion
    mistakes: Proportion
    confidence: float
    stands_out: bool


def by_question(examined: Sequence[Examined]) -> list[Row]:
    """All questions, then those of each kind and each true answer, the most confident mistakes first.

    Intervals take pictures as clusters. Mistakes stand out where they are more frequent than among all other questions,
    at a false discovery rate of FALSE_SHARE over all rows.
    """
    groups: dict[str, dict[int, list[tuple[Answer, bool]]]] = defaultdict(lambda: defaultdict(list))
    for picture, item in enumerate(examined):
        wrong = {mistake.at for mistake in item.mistakes}
        for at, answer in enumerate(item.answers):
            for name in (ALL, f"kind: {FAMILIES[answer.family].kind}", f"answer: {answer.truth}"):
                groups[name][picture].append((answer, at in wrong))
    everything = groups.pop(ALL, {})
    names = sorted(groups)
    p_values = np.array([_p_value(groups[name], everything) for name in names])
    named = discoveries(p_values, FALSE_SHARE)
    rows = [_row(name, groups[name], bool(out)) for name, out in zip(names, named, strict=True)]
    rows.sort(key=lambda row: (not row.stands_out, -row.mistakes.value, row.what))
    return [_row(ALL, everything, False), *rows] if everything else rows


def _row(name: str, pictures: dict[int, list[tuple[Answer, bool]]], stands_out: bool) -> Row:
    sizes = [len(picture) for picture in pictures.values()]
    right = [sum(answer.said == answer.truth for answer, _ in picture) for picture in pictures.values()]
    wrong = [sum(is_mistake for _, is_mistake in picture) for picture in pictures.values()]
    sure = [answer.probability for picture in pictures.values() for answer, _ in picture]
    return Row(
        name,
        clustered_share(right, sizes),
        clustered_share(wrong, sizes),
        float(np.mean(sure)),
        stands_out,
    )


def _p_value(
    pictures: dict[int, list[tuple[Answer, bool]]], everything: dict[int, list[tuple[Answer, bool]]]
) -> float:
    """Of the picture's shares of confident mistakes here, against the shares among the other questions."""
    here = [sum(is_mistake for _, is_mistake in picture) / len(picture) for picture in pictures.values()]
    others = []
    for number, rows in everything.items():
        mine = pictures.get(number, [])
        n = len(rows) - len(mine)
        if n:
            wrong = sum(is_mistake for _, is_mistake in rows) - sum(is_mistake for _, is_mistake in mine)
            others.append(wrong / n)
    known = float(sum(others))
    return excess_p_value(float(sum(here)), len(here), (known + 1.0, max(len(others) - known, 1e-9)))


@dataclass(frozen=True)
class NotFound:
    """A kind of confident mistake that none of `scenes` held-out scenes shows, in each of which it could have occurred.

    `bound` is the upper 95% bound on the share of such scenes that show it, for this kind alone; all `together`
    bounds of an audit hold at once with 95%.
    """

    what: str
    scenes: int
    bound: float
    together: float


@dataclass(frozen=True)
class LookedFor:
    """How many kinds of confident mistakes were looked for, and those of which no held-out scene shows one."""

    kinds: int
    absent: tuple[NotFound, ...]


def looked_for(rows: Sequence[tuple[Facts, Examined]], elsewhere: Iterable[Examined] = ()) -> LookedFor:
    """The kinds of confident mistakes that scenes can show, and those that none of these shows.

    What scenes `elsewhere` show, those that were sought for rare families, is not among the latter. A kind is what
    questions of one kind got for an answer ("zero_hop: too few"), or a misreading that the answers were traced to.
    Scenes are the cases, however many questions each was asked.
    """
    could: dict[str, int] = {}
    shown = {what for examined in elsewhere for what in shown_kinds(examined)}
    for facts, examined in rows:
        for what in set(_possible(facts, examined)):
            could[what] = could.get(what, 0) + 1
        shown.update(shown_kinds(examined))
    absent = [
        NotFound(what, n, no_event_bound(n), no_event_bound(n, kinds=len(could)))
        for what, n in sorted(could.items(), key=lambda row: (-row[1], row[0]))
        if what not in shown
    ]
    return LookedFor(len(could), tuple(absent))


def no_event_bound(scenes: int, kinds: int = 1) -> float:
    """The upper 95% bound on a rate after no event in so many independent scenes: 1 - (.05/kinds)^(1/scenes).

    The one-sided bound of Clopper and Pearson (1934, Biometrika 26, 404-413); bounds of `kinds` rates hold together
    (Bonferroni). InputError without a scene.
    """
    if scenes < 1 or kinds < 1:
        raise InputError(f"{scenes} scenes, {kinds} kinds: a bound takes at least one of each")
    return float(1.0 - (CHANCE / kinds) ** (1.0 / scenes))


def _possible(facts: Facts, examined: Examined) -> Iterator[str]:
    """The kinds of mistakes that this scene and its questions could have shown."""
    for answer in examined.answers:
        for wrong in wrong_kinds(answer.truth):
            yield _of_question(answer, wrong)
    if facts.scene.objects:  # of phantoms nothing is claimed: audits of before did not look for them
        yield from (MISREADINGS[what] for what in ("missed", "doubled", *ATTRIBUTE_KINDS))
    if len(facts.scene.objects) > 1:
        yield from (MISREADINGS[what] for what in MIRRORS)


def shown_kinds(examined: Examined) -> Iterator[str]:
    """The kinds of confident mistakes that a scene shows."""
    for mistake in examined.mistakes:
        yield question_kind(examined.answers[mistake.at])
    for failure in failures_of(examined):
        if failure.symptom.level != "question":
            yield MISREADINGS[failure.symptom.what]


def question_kind(answer: Answer) -> str:
    """The kind of a wrong answer to a question: "zero_hop: too few"."""
    return _of_question(answer, wrong_words(answer.truth, answer.said))


def _of_question(answer: Answer, wrong: str) -> str:
    return f"{FAMILIES[answer.family].kind}: {wrong}"


def not_found_words(done: LookedFor) -> str:
    """What was looked for and not found, in one sentence, with the least and the largest bound of all together."""
    if not done.absent:
        return f"Each of the {done.kinds} mistake types checked occurred in the held-out scenes."
    bounds = sorted(not_found.together for not_found in done.absent)
    span = percent_span(bounds[0], bounds[-1])
    return (
        f"{len(done.absent)} of the {done.kinds} mistake types checked never occurred in the held-out scenes "
        f"(upper bounds that hold together at 95%: {span} of the scenes that allow them)."
    )
