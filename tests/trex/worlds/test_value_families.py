"""Families of named values: planted faults are stated as they are, random failures and correlated hits are not."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import trex
from trex.families import values
from trex.families.family import Family
from trex.families.rules import LEVEL, find_rules
from trex.families.symptom import MISTAKEN
from trex.families.values import FoundDraws, PriorDraws, value_families
from trex.foundation import extensions
from trex.inference.types import Floats
from trex.scenes.conditions import Bools, Term
from trex.search.judging.value_families import _counted
from trex.worlds.own.conditions import condition_table, cuts, value_conditions
from trex.worlds.own.values import Values, specs_of, values_at
from trex.worlds.vectors import PICTURE

PRIOR: dict[str, Any] = {
    "tilt": (-30, 30), "ink": ["thin", "thick"], "size": (0.2, 0.9), "digit": list("0123"), "turn": range(0, 91),
}  # fmt: skip
SPECS = specs_of(PRIOR)
CONDITIONS = value_conditions(SPECS)
N = 400
FREE = float(len(CONDITIONS))  # the level of rules whose conditions cost nothing


def table(zs: Floats) -> Bools:
    return condition_table(SPECS, CONDITIONS, list(zs))


def families(
    seed: int,
    fails: Callable[[Values], bool],
    found: FoundDraws | None = None,
    rates: tuple[float, float] = (1.0, 0.0),
) -> list[Family]:
    """The families of N prior draws; those that fail, with the first rate where `fails`, are hits of one start each."""
    return judged(seed, fails, found, rates)[0]


def judged(
    seed: int,
    fails: Callable[[Values], bool],
    found: FoundDraws | None = None,
    rates: tuple[float, float] = (1.0, 0.0),
) -> tuple[list[Family], Bools, PriorDraws]:
    """The same, with the prior draws that made no rule, and all of them."""
    rng = np.random.default_rng(seed)
    zs = rng.standard_normal((N, len(SPECS)))
    flags = rng.random(N) < np.where([fails(values_at(SPECS, z)) for z in zs], *rates)
    hits = np.flatnonzero(flags)
    prior = PriorDraws(table(zs), flags)
    found = found or FoundDraws(prior.holds[hits], hits, hits)
    return *value_families(CONDITIONS, prior, found, MISTAKEN, PICTURE), prior


def stated(family: Family) -> set[tuple[str, str]]:
    """The value of each condition and whether it is above, below, or which entry it is."""
    terms: list[Term] = [condition.terms[0] for condition in family.pattern.conditions]
    return {
        (each.name.split()[1], each.word or ("above" if np.isinf(each.high) else "below")) for each in terms
    }


FAULTS: dict[str, tuple[Callable[[Any], bool], set[tuple[str, str]]]] = {
    "tilted and thin": (
        lambda v: v["tilt"] > 15 and v["ink"] == "thin", {("tilt", "above"), ("ink", "thin")},
    ),
    "small twos and threes": (lambda v: v["size"] < 0.4 and v["digit"] == "2", {("size", "below"), ("digit", "2")}),
    "thick": (lambda v: v["ink"] == "thick", {("ink", "thick")}),
    "turned far": (lambda v: v["turn"] > 70, {("turn", "above")}),
    "tilted to the left, large": (
        lambda v: v["tilt"] < -10 and v["size"] > 0.6, {("tilt", "below"), ("size", "above")},
    ),
}  # fmt: skip


def test_planted_faults_are_stated_with_all_their_conditions_and_no_other() -> None:
    """Under the conditions 75% of the pictures fail, elsewhere 3%. Planted bug: a condition costs nothing."""
    right = 0
    for seed in range(20):
        fails, conditions = list(FAULTS.values())[seed % len(FAULTS)]
        found = families(seed, fails, rates=(0.75, 0.03))
        right += len(found) == 1 and found[0].is_established and stated(found[0]) == conditions
    assert right >= 16
    (thin,) = families(0, FAULTS["tilted and thin"][0])
    assert thin.words == "The model is wrong where tilt is above 15 and ink is thin."
    assert "where this holds, the model does so in 100%" in thin.evidence


@pytest.mark.parametrize("level", [LEVEL, FREE])
def test_random_failures_confirm_nothing(level: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where rules are found freely. Planted bug: a rule judged by the draws that it was made from."""
    monkeypatch.setattr(values, "find_rules", partial(find_rules, level=level))
    found = [families(seed, lambda v: True, rates=(0.15, 0.0)) for seed in range(20)]
    assert any(found) or level == LEVEL
    assert sum(any(family.is_established for family in each) for each in found) <= 1


def test_the_rate_of_a_family_is_told_by_draws_that_made_no_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """15% of all pictures fail, and rules are found freely. Planted bug: the rate is of all draws, of which those under
    the rule that made it fail more often than others do."""
    monkeypatch.setattr(values, "find_rules", partial(find_rules, level=FREE))
    fresh, too_high, with_bug, n = (
        table(np.random.default_rng(8).standard_normal((20_000, len(SPECS)))),
        0,
        0,
        0,
    )
    for seed in range(20):
        found, judges, prior = judged(seed, lambda v: True, rates=(0.15, 0.0))
        hits: Any = [SimpleNamespace(answer="1")] * int(prior.fails.sum())
        for family in found:
            columns = [CONDITIONS.index(each) for each in family.pattern.conditions]
            truth = 0.15 * float(fresh[:, columns].all(axis=1).mean())
            rates = [
                _counted(family, CONDITIONS, prior, hits, draws).rate
                for draws in (judges, np.ones_like(judges))
            ]
            lows = [rate.interval.low if rate else 0.0 for rate in rates]
            n, too_high, with_bug = n + 1, too_high + (lows[0] > truth), with_bug + (lows[1] > truth)
    assert n >= 40 and too_high <= 0.02 * n and with_bug > 0.1 * n


def test_the_hits_of_one_start_are_one_failure_and_confirm_nothing() -> None:
    """One chain stays where tilt is above 10; failures are anywhere. Planted bug: every hit of a chain counted."""
    rng = np.random.default_rng(5)
    chain = rng.standard_normal((4000, len(SPECS)))
    chain = chain[[values_at(SPECS, z)["tilt"] > 10 for z in chain]][:60]  # type: ignore[operator]
    even = np.zeros(len(chain), dtype=np.intp)
    one = FoundDraws(table(chain), even, even)
    apart = FoundDraws(table(chain), np.arange(len(chain)), even)
    none = families(5, lambda v: False, one)
    assert none == []
    wrong = families(5, lambda v: False, apart)
    assert wrong and stated(wrong[0]) == {("tilt", "above")}, "this is what counting each of them would do"
    assert not wrong[0].is_established and "do not confirm" in wrong[0].words


def test_independent_hits_suggest_a_rule_that_prior_draws_have_to_confirm() -> None:
    """Planted bug: a rule made of hits that descend from the draws which judge it."""
    rng = np.random.default_rng(6)
    zs = rng.standard_normal((4000, len(SPECS)))
    hits = zs[[values_at(SPECS, z)["tilt"] > 20 for z in zs]][:12]  # type: ignore[operator]
    places = np.arange(12)
    (found,) = families(6, lambda v: False, FoundDraws(table(hits), places, 2 * places))
    assert found.is_tentative and found.words.startswith(
        "In 12 pictures found, tilt is above 20; other random"
    )
    mixed = np.where(places < 8, places, -1)
    assert families(6, lambda v: False, FoundDraws(table(hits), places, mixed)) == [], "four of each half"
    few = FoundDraws(table(hits), places % 4, 2 * places + places % 2)
    assert families(6, lambda v: False, few) == [], "two starts in each half are too few"


def test_conditions_are_at_round_numbers_within_the_range() -> None:
    assert cuts(-30, 30) == [-25, -20, -15, -10, -5, 0, 5, 10, 15, 20, 25]
    assert cuts(0, 1) == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    for low, high in [(0.1, 0.45), (1e6, 1e6 + 1), (-1e-3, 2e-3), (0, 1e12), (3, 3.7), (-1, 1e-9)]:
        found = cuts(low, high)
        assert 8 <= len(found) <= 22 and low < found[0] < found[-1] < high
    said = {condition.words for condition in CONDITIONS}
    assert {"tilt is above 15", "ink is thin", "digit is 2", "turn is below 40", "turn is 37"} <= said
    numbers = [words for words in said if words.startswith("digit")]
    assert len(numbers) == 4, "words are not cut"


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "_given", {})


def render(values: Any) -> Any:
    picture = np.zeros((4, 4))
    picture[0] = (values["tilt"] + 30) / 60, values["ink"] == "thin", int(values["digit"]) / 3, values["size"]
    return picture


def classify(pictures: Any, question: object) -> Any:
    """Right, but says 0 to thin digits that are tilted by more than 15."""
    tilt, thin = pictures[:, 0, 0, 0] * 60 - 30, pictures[:, 0, 1, 0] > 0.5
    said = np.where((tilt > 15) & thin, 0, np.rint(pictures[:, 0, 2, 0] * 3).astype(int))
    return 0.02 + 0.92 * np.eye(4)[said]


def search(out: Path, **changes: Any) -> trex.Run:
    world = trex.World(
        prior={name: PRIOR[name] for name in ("tilt", "ink", "size", "digit")},
        render=render,
        answer=lambda values: str(values["digit"]),
        answers=list("0123"),
    )
    asked = {"answer": "0", "wrong": True, "prior_scenes": 200, "steps": 0, "explain": False, "large": False}
    return trex.find(world=world, model=classify, out=out, progress=False, **(asked | changes))


@pytest.mark.usefixtures("given")
def test_a_run_states_the_fault_wherever_families_are_shown(tmp_path: Path) -> None:
    run = search(tmp_path / "run")
    words = "The model wrongly says “0” where tilt is above 15 and ink is thin."
    (family,) = run.families
    assert family.words == words and family.members == tuple(range(len(run.hits)))
    assert family.rate and family.rate.of == 100 and 0 < family.rate.count < run.rate.count, (
        "of the half that judges"
    )
    assert words in repr(family) and words in family._repr_html_() and words in run._repr_html_()
    assert run.summary().startswith(f"{words}\nIn all {len(run.hits)} pictures found the answer is wrong")
    judging = "the 100 random pictures that judge the rule"  # the first screen's rate is of all
    page = run.report().read_text(encoding="utf-8")
    assert words in page and f"{family.how_often} of {judging}" in page
    assert f"in {judging} {family.how_often}" in run.summary() and family.evidence in run.summary()
    assert trex.open_run(run.path).families != run.families, "without the world's code, values have no names"


@pytest.mark.usefixtures("given")
def test_the_sentence_says_what_was_searched_for(tmp_path: Path) -> None:
    """Without `wrong`, what is said; zeros are rightly called so."""
    run = search(tmp_path / "run", wrong=False, prior_scenes=600)
    assert {family.words for family in run.families} == {
        "The model says “0” where digit is 0.",
        "The model says “0” where tilt is above 15 and ink is thin.",
    }
