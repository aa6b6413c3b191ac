"""The figures of an audit's findings and of its table by question, worked out by hand."""

from __future__ import annotations

import pytest

from tests.trex.auditing.judging.test_not_found import FACTS
from tests.trex.auditing.judging.test_probe import BACK, SMALL
from trex.auditing.judging import by_question as module
from trex.auditing.judging.by_question import by_question
from trex.auditing.judging.findings import HeldOut, covered, findings
from trex.auditing.sweeping.records import Answer, Examined, Mistake, Tested, Variants
from trex.inference.statistics.clustered import clustered_interval
from trex.inference.statistics.discoveries import excess_p_value
from trex.inference.statistics.proportion import Proportion, clopper_pearson
from trex.scenes.questions.families import FAMILIES

COUNT = next(one.index for one in FAMILIES if one.name.endswith("count"))
OTHER = next(one.index for one in FAMILIES if one.kind != FAMILIES[COUNT].kind)


def counts(one: Proportion) -> tuple[int, int]:
    return one.count, one.of


def asked_again(stays: bool, confidence: float, noise: float | None = None, family: int = 0) -> Tested:
    return Tested(family, 0, stays, confidence, "", "", "", "", Variants(noise=noise))


def test_the_figures_of_a_finding_are_worked_out_by_hand() -> None:
    """8 of 10 scenes under the conditions fail, of 20 held out; 3 of 4 asked again stay."""
    row = (FACTS, Examined(0, (), (), (), (), ()), [0])
    seen = HeldOut(BACK, (1.0,) * 8 + (0.0,) * 2, (0.0,) * 20, (row,) * 8)
    rare = HeldOut(SMALL, (1.0,) * 7 + (0.0,) * 2, (0.0,) * 20, (row,) * 7)
    rows = [
        asked_again(True, 0.9, 1.0),
        asked_again(True, 0.95, 0.5),
        asked_again(True, 1.0),
        asked_again(False, 0.2),
    ]
    rows += [asked_again(True, 0.9, family=1)]
    memberships = [[{0}] * 2, [{1}, set()], *([[]] * 18)]
    first, second = findings([seen, rare], rows, memberships, {"missed": 3.0})
    one, other = (first, second) if first.number == 0 else (second, first)
    assert counts(other.covers) == (1, 4)
    assert (counts(one.holds), counts(one.fails), counts(one.stays), counts(one.covers)) == (
        (10, 20),
        (8, 10),
        (3, 4),
        (2, 4),
    )
    assert one.rate == pytest.approx(8 / 20 * 3 / 4)
    fails, stays = clopper_pearson(8, 20, 0.975), clopper_pearson(3, 4, 0.975)
    assert one.rate_interval == pytest.approx((fails.low * stays.low, fails.high * stays.high))
    assert one.confidence == pytest.approx(0.95) and one.survives == {"noise": (0.75, 2)}
    assert one.p_value == pytest.approx(excess_p_value(8.0, 10, (1.0, 20.0)))
    assert first.harm > second.harm == one.harm == pytest.approx(3 * one.rate * 0.95)  # 7/20 of .9 is more


def test_the_interval_of_a_coverage_takes_pictures_as_clusters() -> None:
    found = covered([[{0}] * 5, [set()] * 5] * 4, {0})
    assert counts(found) == (20, 40) and found.interval == clustered_interval([5, 0] * 4, [5] * 8)
    assert found.interval.low < clopper_pearson(20, 40).low


def rows() -> list[Examined]:
    """In 30 pictures two counts, both confidently wrong in every second one, and two other answers, all right."""
    counts = [(Answer(COUNT, "2", "1", 0.97) if k % 2 else Answer(COUNT, "2", "2", 0.97)) for k in range(30)]
    right = Answer(OTHER, "red", "red", 0.57)
    mistakes = (Mistake(0, None), Mistake(1, None))
    return [
        Examined(k, (one, one, right, right), mistakes if k % 2 else (), (), (), ())
        for k, one in enumerate(counts)
    ]


def test_a_kind_whose_mistakes_are_more_frequent_stands_out_and_no_other() -> None:
    table = {one.what: one for one in by_question(rows())}
    every, count = table["all questions"], table[f"kind: {FAMILIES[COUNT].kind}"]
    other = table[f"kind: {FAMILIES[OTHER].kind}"]
    assert (counts(every.right), counts(every.mistakes)) == ((90, 120), (30, 120))
    assert every.confidence == pytest.approx(0.77) and count.confidence == pytest.approx(0.97)
    assert (counts(count.right), counts(count.mistakes), count.stands_out) == ((30, 60), (30, 60), True)
    assert (counts(other.right), counts(other.mistakes), other.stands_out) == ((60, 60), (0, 60), False)
    assert count.mistakes.interval == clustered_interval([0, 2] * 15, [2] * 30)
    assert next(one.what for one in by_question(rows())) == "all questions"


def test_a_kind_is_compared_with_the_other_questions_alone() -> None:
    """Planted: compared with all questions, its own mistakes among them."""
    wrong, right = (Answer(COUNT, "2", "1", 0.9), True), (Answer(OTHER, "red", "red", 0.9), False)
    p_value = module._p_value({k: [wrong] for k in range(6)}, {k: [wrong, right] for k in range(6)})
    assert p_value == pytest.approx(excess_p_value(6.0, 6, (1.0, 6.0)))
