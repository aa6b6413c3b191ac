"""How right and how sure a model is, by kind of question and by true answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trex.auditing.judging.findings import FALSE_SHARE, clustered_share
from trex.auditing.sweeping.records import Answer, Examined
from trex.inference.statistics.discoveries import discoveries, excess_p_value
from trex.inference.statistics.proportion import Proportion
from trex.scenes.questions.families import FAMILIES

ALL = "all questions"


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
    for picture, one in enumerate(examined):
        wrong = {mistake.at for mistake in one.mistakes}
        for at, answer in enumerate(one.answers):
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
    sizes = [len(one) for one in pictures.values()]
    right = [sum(answer.said == answer.truth for answer, _ in one) for one in pictures.values()]
    wrong = [sum(is_mistake for _, is_mistake in one) for one in pictures.values()]
    sure = [answer.probability for one in pictures.values() for answer, _ in one]
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
    here = [sum(is_mistake for _, is_mistake in one) / len(one) for one in pictures.values()]
    others = []
    for number, rows in everything.items():
        mine = pictures.get(number, [])
        n = len(rows) - len(mine)
        if n:
            wrong = sum(is_mistake for _, is_mistake in rows) - sum(is_mistake for _, is_mistake in mine)
            others.append(wrong / n)
    known = float(sum(others))
    return excess_p_value(float(sum(here)), len(here), (known + 1.0, max(len(others) - known, 1e-9)))
