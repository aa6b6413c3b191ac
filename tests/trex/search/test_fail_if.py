"""`--fail-if`: what is a condition, and that the interval of the rate decides, not its point estimate."""

from __future__ import annotations

import pytest

from trex.foundation.errors import InputError
from trex.foundation.words import percent
from trex.inference.statistics.how_often import rate_words
from trex.inference.statistics.proportion import Interval, Proportion
from trex.search.judging.fail_if import Decision, FailIf, Ruling, decide_rate, overall, parse_fail_if

PASS, FAIL, UNDECIDED = Decision.PASS, Decision.FAIL, Decision.UNDECIDED


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("found", FailIf("found")),
        (" found ", FailIf("found")),
        ("rate > 0.01", FailIf("rate > 0.01", ">", 0.01)),
        ("rate>=1%", FailIf("rate>=1%", ">=", 0.01)),
        ("rate  <  .5%", FailIf("rate < .5%", "<", 0.005)),
        ("rate <= 1e-3", FailIf("rate <= 1e-3", "<=", 0.001)),
        ("rate > 1.", FailIf("rate > 1.", ">", 1.0)),
    ],
)
def test_a_condition_is_read(text: str, expected: FailIf) -> None:
    assert parse_fail_if(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "Found", "found > 1", "RATE > 1",
        "rate", "rate > ", "rate > two", "rate == 1", "rate > 2", "rate > 101%", "rate > -1",
        "rate > nan", "rate > inf", "rate > 1e999", "rate > 0.1; rm", "rate > ١", "rate > 0." + "0" * 100, "rate >> 0",
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(InputError, match=r"--fail-if .*rate > 0\.01"):
        parse_fail_if(text)


@pytest.mark.parametrize(
    ("sign", "low", "high", "expected"),
    [
        (">", 0.2, 0.3, FAIL), (">", 0.1, 0.3, UNDECIDED), (">", 0.0, 0.1, PASS), (">", 0.05, 0.11, UNDECIDED),
        (">=", 0.1, 0.3, FAIL), (">=", 0.0, 0.1, UNDECIDED), (">=", 0.0, 0.09, PASS),
        ("<", 0.0, 0.09, FAIL), ("<", 0.0, 0.1, UNDECIDED), ("<", 0.1, 0.3, PASS),
        ("<=", 0.0, 0.1, FAIL), ("<=", 0.1, 0.3, UNDECIDED), ("<=", 0.11, 0.3, PASS),
    ],
)  # fmt: skip
def test_every_rate_of_the_interval_has_a_say(sign: str, low: float, high: float, expected: Decision) -> None:
    assert decide_rate(FailIf("", sign, 0.1), Interval(low, high)) is expected


def wrong_decisions(of: int, bound: float, decide_by: str) -> float:
    """The chance that a rate equal to the bound fails the build, over all counts of hits."""
    from scipy.stats import binom

    condition, chance = FailIf("", ">", bound), 0.0
    for count in range(of + 1):
        proportion = Proportion(count, of)
        interval = (
            proportion.interval if decide_by == "interval" else Interval(proportion.value, proportion.value)
        )
        chance += float(binom.pmf(count, of, bound)) * (decide_rate(condition, interval) is FAIL)
    return chance


def test_a_build_fails_by_chance_at_most_once_in_40_times() -> None:
    """Exact, by enumeration: a 95% interval lies above the true rate with 2.5% probability at most."""
    for of, bound in [(20, 0.1), (100, 0.01), (100, 0.5), (500, 0.05)]:
        assert wrong_decisions(of, bound, "interval") <= 0.025


def test_a_point_estimate_that_decides_is_noticed() -> None:
    """The planted bug: of a rate that is exactly the bound, the estimate lies above it almost half of the time."""
    assert wrong_decisions(100, 0.5, "point") > 0.4
    assert wrong_decisions(100, 0.01, "point") > 0.2


def test_one_failure_outweighs_all_and_one_doubt_outweighs_passes() -> None:
    def of(*decisions: Decision) -> Decision:
        return overall([Ruling(FailIf("found"), decision, "") for decision in decisions])

    assert (of(), of(PASS, PASS), of(PASS, UNDECIDED), of(UNDECIDED, FAIL, PASS)) == (
        PASS,
        PASS,
        UNDECIDED,
        FAIL,
    )


@pytest.mark.parametrize("n", [20, 299, 300, 360, 1500])
def test_after_no_hit_the_screen_states_the_bound_that_decides(n: int) -> None:
    """Planted bug: the screen said "less than 1.0%" of 300 scenes, 3/n, and `rate > 1%` was undecided."""
    none = Proportion(0, n)
    said = rate_words(none, "scenes")
    assert none.ceiling == percent(none.interval.high) and f"less than {none.ceiling} of" in said
    assert none.figure == f"< {none.ceiling}" and none.range.endswith(f"–{none.ceiling}")
