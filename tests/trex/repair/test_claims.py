"""What a repair of digits may claim, and whose figures its sentences give."""

from __future__ import annotations

from tests.trex.repair.test_sentences import result
from trex.repair.correction.results import (
    BEFORE,
    FRESH,
    GROWN,
    SWEEP,
    TEST,
    ZERO,
    Claim,
    Compared,
    CorrectResult,
    Tuned,
)
from trex.repair.page.sentences import corrected, difference_words


def costly(seed: int) -> CorrectResult:
    """One seed loses test pictures."""
    found = result((0.1, 0.1))
    rows = [
        one.model_copy(update={"only_other": 60}) if (one.seed, one.test) == (seed, TEST) else one
        for one in found.compared
    ]
    return found.model_copy(update={"compared": rows})


def test_one_seed_that_costs_test_pictures_is_enough_not_to_claim_it() -> None:
    assert result((0.1, 0.1)).is_mended
    for seed in (0, 1):
        assert not costly(seed).is_mended and "the test split is worse" in list(corrected(costly(seed)))[-1]


def test_the_sentence_gives_the_figures_of_the_model_that_it_names() -> None:
    found = result((0.1, 0.1))
    right = lambda *n: dict(zip((FRESH, GROWN, TEST), ((k, 100) for k in n), strict=True))  # noqa: E731
    tuned = [
        Tuned(seed=s, kind=SWEEP, weight=w, right=right(*n))
        for s in range(2)
        for w, n in ((0.0, (31, 32, 33)), (0.1, (91, 92, 93)))
    ]
    before = Tuned(seed=0, kind=BEFORE, weight=0.0, right=right(11, 12, 13))
    found = found.model_copy(update={"tuned": tuned, "before": before})
    assert [one.weight for one in found.best] == [0.1, 0.1]
    first = next(iter(corrected(found))).replace("\u00a0", " ")
    assert (
        "right on 91.0 % (91.0 to 91.0) of fresh draws (11.0 % before, 31.0 % (31.0 to 31.0) after" in first
    )
    assert "93.0 % (93.0 to 93.0) of the test split (13.0 % before, 33.0 %" in first


def test_the_range_of_differences_is_from_least_to_greatest() -> None:
    rows = [
        Compared(seed=s, against=ZERO, test=TEST, both=50, only_chosen=k, only_other=0, neither=50 - k)
        for s, k in enumerate((10, 20))
    ]
    assert difference_words(Claim(ZERO, TEST, tuple(rows), 2)) == "+15.0 points, +10.0 to +20.0"
