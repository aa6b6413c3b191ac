"""What the page of a repair claims of a correction, and why not."""

from __future__ import annotations

import pytest

from trex.repair.correction.results import (
    BEFORE,
    FRESH,
    GROWN,
    SWEEP,
    TEST,
    ZERO,
    Compared,
    Corrected,
    CorrectResult,
    Tuned,
)
from trex.repair.identify import IdentifyResult, NoiseCount
from trex.repair.page.sentences import corrected as said
from trex.repair.page.sentences import identified

RIGHT = dict.fromkeys((FRESH, GROWN, TEST), (90, 100))


def result(chosen: tuple[float | None, ...], lost: int = 0, gained: int = 60) -> CorrectResult:
    """One scenario; each seed that chose gains on fresh draws and grown mistakes, and loses test pictures."""
    seeds = [seed for seed, weight in enumerate(chosen) if weight is not None]
    compared = [
        Compared(seed=seed, against=against, test=test, both=30, only_chosen=gained, only_other=0, neither=10)
        for seed in seeds
        for against in (BEFORE, ZERO)
        for test in (FRESH, GROWN)
    ]
    compared += [
        Compared(seed=s, against=ZERO, test=TEST, both=9000, only_chosen=1, only_other=lost, neither=99)
        for s in seeds
    ]
    tuned = [Tuned(seed=s, kind=SWEEP, weight=w, right=RIGHT) for s in range(len(chosen)) for w in (0.0, 0.1)]
    return CorrectResult(
        corrected=[Corrected(number=1, label="8")],
        impure=[],
        before=Tuned(seed=0, kind="before", weight=0.0, right=RIGHT),
        tuned=tuned,
        chosen=list(chosen),
        compared=compared,
        has_singles=False,
    )


def test_a_mistake_that_needs_no_noise_is_not_blamed_on_the_generator() -> None:
    """The model was never asked about the picture itself: it may misread that, too."""
    grown = NoiseCount(noise="centred", decodings=6000, wrong=900, wrong_new=400)
    found = IdentifyResult(
        seeds=300, seeds_plain_wrong=40, grown=grown, kept=800, kept_new=300, held_out=9, compared=[]
    )
    words = identified(found)
    assert "For 500 (62.5\u00a0%) the model is already wrong on the plain reconstruction" in words
    assert words.endswith("these needed no noise.") and "generator" not in words


def test_a_gain_in_every_seed_is_claimed() -> None:
    assert list(said(result((0.1, 0.1, 0.1))))[-1].startswith("Mended: in every seed")


@pytest.mark.parametrize(
    ("found", "reason", "gains"),
    [
        (result((0.1, 0.1, None)), "in 1 of 3 seeds no weight of the scenarios kept the accuracy", True),
        (result((0.1, 0.1), lost=60), "the test split is worse than with lambda 0", True),
        (result((0.1, 0.1), gained=1), "no clear gain in every tuned seed on", False),
    ],
)
def test_what_is_not_claimed_has_its_reason(found: CorrectResult, reason: str, gains: bool) -> None:
    """A seed without a weight is no seed without a gain: the page once took the one for the other."""
    last = list(said(found))[-1]
    assert not found.is_mended and last.startswith("Not claimed to be mended")
    assert reason in last and ("although every tuned seed gains clearly" in last) is gains
    assert ("no clear gain" in last) is not gains
