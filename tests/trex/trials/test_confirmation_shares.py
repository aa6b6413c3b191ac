"""What stays at another look, each share of its own denominator."""

from __future__ import annotations

from trex.scenes.questions.truth import NO_ANSWER
from trex.trials.confirmation import LEAVES, RIGHT, STAYS, WRONG, Confirmed, Look, stay, still_wrong


def look(answer: str, is_hit: bool) -> Look:
    return Look("0" * 64, answer, 0.9, is_hit, ())


def scene(truth: str, before: str, after: str, is_hit: bool) -> Confirmed:
    return Confirmed(truth, look(before, True), look(after, is_hit))


SCENES = [
    scene("2", "1", "1", True),  # stays
    scene("2", "1", "3", False),  # leaves, still wrong
    scene("2", "1", "2", False),  # leaves, right now
    scene("1", "1", "1", True),  # a hit whose answer was right
    scene("1", "1", "2", False),  # was right, and is wrong now: no wrong answer that stayed wrong
    scene(NO_ANSWER, "1", "1", True),
    scene(NO_ANSWER, "1", "2", False),
]


def test_each_share_has_its_own_denominator() -> None:
    """Planted bugs: of all scenes, how many are wrong; hits of the search in place of those at the other look; a
    question without an answer counted as wrong.
    """
    wrong, stays = still_wrong(SCENES), stay(SCENES)
    assert (stays.count, stays.of) == (3, 7)
    assert (wrong.count, wrong.of) == (2, 3)
    assert [one.verdict for one in SCENES] == [STAYS, WRONG, RIGHT, STAYS, WRONG, STAYS, LEAVES]
