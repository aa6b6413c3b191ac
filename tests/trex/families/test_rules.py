"""Rules name the conditions that were planted, and none where there is nothing but chance."""

from __future__ import annotations

import numpy as np
import pytest

from trex.families import rules
from trex.families.rules import Bools, find_rules, gain, matches, needed
from trex.foundation.errors import InputError

CONDITIONS = 40


def table(seed: int, n: int = 3000) -> tuple[np.random.Generator, Bools]:
    """Independent conditions, each holding for between 10 and 60% of the cases."""
    rng = np.random.default_rng(seed)
    return rng, rng.random((n, CONDITIONS)) < rng.uniform(0.1, 0.6, CONDITIONS)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("chance", [1.0, 0.5])
def test_planted_conditions_are_named_all_and_alone(seed: int, chance: float) -> None:
    rng, holds = table(seed)
    events = holds[:, [3, 7]].all(axis=1) & (rng.random(len(holds)) < chance)
    events |= rng.random(len(holds)) < 0.002
    first = find_rules(holds, events)[0]
    assert first.conditions == (3, 7)
    assert first.events == (matches(holds, first) & events).sum()


def test_three_conditions_and_a_second_rule_are_found_one_after_the_other() -> None:
    _, holds = table(11, 6000)
    item, other = holds[:, [1, 2, 5]].all(axis=1), holds[:, [20, 21]].all(axis=1)
    found = find_rules(holds, item | other)
    assert {rule.conditions for rule in found[:2]} == {(1, 2, 5), (20, 21)}
    assert found[1].cases < matches(holds, found[1]).sum()  # those of the first rule are left out


def chance_rules(runs: int = 200) -> int:
    """In how many tables of events without any cause a rule is named."""
    named = 0
    for seed in range(runs):
        rng, holds = table(seed, 400)
        named += bool(find_rules(holds, rng.random(400) < 0.1))
    return named


def test_chance_is_seldom_named() -> None:
    assert chance_rules() <= 8  # at a level of .01 2 are expected, and 8 exceeded once in 4,000 times


def test_a_bar_without_bonferronis_correction_names_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "needed", lambda conditions, level: needed(1, level))
    assert chance_rules() > 8


def test_a_condition_that_adds_nothing_is_left_out() -> None:
    _, holds = table(3)
    holds[:, 9] = holds[:, 3] | holds[:, 30]  # weaker than condition 3, and implied by it
    found = find_rules(holds, holds[:, 3] & holds[:, 4])
    assert found[0].conditions == (3, 4)


def few_cases(seed: int) -> tuple[Bools, Bools]:
    """A rare condition whose cases are events where two frequent ones hold too: some 8 events, and 3 by chance."""
    rng, holds = table(seed, 900)
    holds[:, 0] = rng.random(900) < 0.05
    holds[:, [1, 2]] = rng.random((900, 2)) < 0.5
    events: Bools = holds[:, [0, 1, 2]].all(axis=1)
    return holds, events


def test_conditions_that_pay_only_together_are_named() -> None:
    """Planted bug: each condition had to pay when it was added, and the sentence stopped at the first one."""
    named = [find_rules(*few_cases(seed))[0].conditions for seed in range(40)]
    assert named.count((0, 1, 2)) >= 36


def further_conditions(runs: int = 100) -> int:
    """Beside a condition that matters, how often a further one is named that means nothing."""
    named = 0
    for seed in range(runs):
        rng, holds = table(seed, 600)
        found = find_rules(holds, rng.random(len(holds)) < np.where(holds[:, 3], 0.25, 0.1))
        named += any(len(rule.conditions) > 1 for rule in found[:1])
    return named


def test_conditions_that_mean_nothing_are_not_added_to_one_that_does() -> None:
    assert further_conditions() <= 4


def test_conditions_that_cost_nothing_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "needed", lambda conditions, level: 0.0)
    assert further_conditions() > 4


def test_a_rule_has_enough_events() -> None:
    _, holds = table(4)
    events = np.zeros(len(holds), dtype=np.bool_)
    events[np.flatnonzero(holds[:, 2])[:4]] = True
    assert find_rules(holds, events) == []


def test_the_gain_is_that_of_two_binomials_over_one() -> None:
    def log_likelihood(k: int, n: int) -> float:
        return k * np.log(k / n) + (n - k) * np.log(1 - k / n)

    assert gain(8, 20, 18, 220) == pytest.approx(
        log_likelihood(8, 20) + log_likelihood(10, 200) - log_likelihood(18, 220)
    )
    assert gain(1, 20, 50, 220) == 0.0  # less frequent inside
    assert gain(0, 0, 5, 10) == gain(5, 10, 5, 10) == 0.0


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="do not belong together"):
        find_rules(np.ones((3, 2), dtype=np.bool_), np.ones(2, dtype=np.bool_))
