"""Where a model leans to confident mistakes that it was not seen to make: what to search for next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trex.auditing.judging.not_found import question_kind, shown_kinds
from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.records import Examined
from trex.scenes.graph import Facts
from trex.scenes.questions.programs import possible_answers
from trex.scenes.questions.wrong_answer import WrongAnswer

LEAST, LEAST_SHARE = 5, 0.05  # scenes in which the answer is wrong, for a search to find scenes to begin with
TRIED = 50  # questions of a kind, the surest first


@dataclass(frozen=True)
class Leaning:
    """The mistake of which the model was surest, of a kind of which no scene shows a confident one.

    `question` is in English; `scene` is the number of the bank's scene, in which `truth` is true.
    """

    what: str
    question: str
    said: str
    truth: str
    probability: float
    scene: int


def leanings(rows: Sequence[tuple[Facts, Examined]], asker: Asker) -> tuple[Leaning, ...]:
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
            filter(None, (_leaning(kind, row, at, rows, asker) for _, row, at in sorted(places)[:TRIED])),
            None,
        )
        for kind, places in wrong.items()
    )
    return tuple(sorted(filter(None, found), key=lambda one: (-one.probability, one.what)))


def _leaning(
    kind: str, row: int, at: int, rows: Sequence[tuple[Facts, Examined]], asker: Asker
) -> Leaning | None:
    facts, one = rows[row]
    question, answer = asker.questions(facts.scene, one.scene)[at], one.answers[at]
    if answer.said not in possible_answers(question.program):
        return None
    condition = WrongAnswer(question.program, (answer.said,))
    if sum(condition.is_wrong(known.scene) for known, _ in rows) < max(LEAST, LEAST_SHARE * len(rows)):
        return None
    return Leaning(kind, asker.words(question), answer.said, answer.truth, answer.probability, one.scene)
