"""What was looked for and not found: the bound on its rate, and how near the model comes to such a mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trex.auditing.judging.situations import failures_of
from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.records import Answer, Examined
from trex.families.symptom import wrong_kinds, wrong_words
from trex.foundation.errors import InputError
from trex.foundation.words import capitalized
from trex.scenes.graph import Facts
from trex.scenes.misreading import ATTRIBUTE_KINDS, MIRRORS
from trex.scenes.questions.families import FAMILIES
from trex.scenes.questions.programs import possible_answers
from trex.scenes.questions.wrong_answer import WrongAnswer

CHANCE = 0.05  # that a bound is too low
LEAST, LEAST_SHARE = 5, 0.05  # scenes in which the answer is wrong, for a search to find scenes to begin with
TRIED = 50  # questions of a kind, the surest first
MISREADINGS = {
    "missed": "An object is missed",
    "doubled": "An object is counted twice",
    **{kind: f"An object's {kind} is misread" for kind in ATTRIBUTE_KINDS},
    **{what: f"{capitalized(what)} are confused" for what in MIRRORS},
}


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


def looked_for(rows: Sequence[tuple[Facts, Examined]]) -> LookedFor:
    """The kinds of confident mistakes that scenes can show, and those that none of these shows.

    A kind is what questions of one kind got for an answer ("zero_hop: too few"), or a misreading that the answers were
    traced to. Scenes are the cases, however many questions each was asked.
    """
    could: dict[str, int] = {}
    shown: set[str] = set()
    for facts, one in rows:
        for what in set(_possible(facts, one)):
            could[what] = could.get(what, 0) + 1
        shown.update(shown_kinds(one))
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


def _possible(facts: Facts, one: Examined) -> Iterator[str]:
    """The kinds of mistakes that this scene and its questions could have shown."""
    for answer in one.answers:
        for wrong in wrong_kinds(answer.truth):
            yield _of_question(answer, wrong)
    if facts.scene.objects:
        yield from (MISREADINGS[what] for what in ("missed", "doubled", *ATTRIBUTE_KINDS))
    if len(facts.scene.objects) > 1:
        yield from (MISREADINGS[what] for what in MIRRORS)


def shown_kinds(one: Examined) -> Iterator[str]:
    """The kinds of confident mistakes that a scene shows."""
    for mistake in one.mistakes:
        yield question_kind(one.answers[mistake.at])
    for failure in failures_of(one):
        if failure.symptom.level != "question":
            yield MISREADINGS[failure.symptom.what]


def question_kind(answer: Answer) -> str:
    """The kind of a wrong answer to a question: "zero_hop: too few"."""
    return _of_question(answer, wrong_words(answer.truth, answer.said))


def _of_question(answer: Answer, wrong: str) -> str:
    return f"{FAMILIES[answer.family].kind}: {wrong}"


@dataclass(frozen=True)
class Hint:
    """The mistake of which the model was surest, of a kind of which no scene shows a confident one.

    `question` is in English; `scene` is the number of the bank's scene, in which `truth` is true.
    """

    what: str
    question: str
    said: str
    truth: str
    probability: float
    scene: int


def hints(rows: Sequence[tuple[Facts, Examined]], asker: Asker) -> tuple[Hint, ...]:
    """One for each kind of wrong answer of which no scene shows a confident mistake, the likeliest first.

    Left out are answers that CLEVR does not have, and questions of which the answer is wrong in too few of these scenes
    (LEAST, LEAST_SHARE): most questions about one object have no answer in most scenes, and a search would spend
    itself on drawing scenes. Kinds without any other are left out.
    """
    known = {kind for _, one in rows for kind in shown_kinds(one)}
    wrong: dict[str, list[tuple[float, int, int]]] = {}  # by kind: -probability, row, place among the answers
    for row, (_, one) in enumerate(rows):
        for at, answer in enumerate(one.answers):
            if answer.said != answer.truth and (kind := question_kind(answer)) not in known:
                wrong.setdefault(kind, []).append((-answer.probability, row, at))
    found = (
        next(
            filter(None, (_hint(kind, row, at, rows, asker) for _, row, at in sorted(places)[:TRIED])),
            None,
        )
        for kind, places in wrong.items()
    )
    return tuple(sorted(filter(None, found), key=lambda one: (-one.probability, one.what)))


def _hint(kind: str, row: int, at: int, rows: Sequence[tuple[Facts, Examined]], asker: Asker) -> Hint | None:
    facts, one = rows[row]
    question, answer = asker.questions(facts.scene, one.scene)[at], one.answers[at]
    if answer.said not in possible_answers(question.program):
        return None
    condition = WrongAnswer(question.program, (answer.said,))
    if sum(condition.is_wrong(known.scene) for known, _ in rows) < max(LEAST, LEAST_SHARE * len(rows)):
        return None
    return Hint(kind, asker.words(question), answer.said, answer.truth, answer.probability, one.scene)
