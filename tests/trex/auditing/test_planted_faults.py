"""A model with one planted fault: the first family names its conditions, all of them and no other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from pathlib import Path

import numpy as np
import pytest

from tests.trex.auditing.planted_models import (
    CAP,
    Book,
    Planted,
    View,
    as_it_is,
    blue_beside_green_is_swapped,
    hidden_metal_cylinders_are_cubes,
    left_is_right_under_a_low_camera,
    small_things_at_the_back_are_missed,
)
from trex.auditing.grouping.group import group
from trex.auditing.judging.confirm import Confirmer
from trex.auditing.judging.findings import Finding, belonging, covered, findings, held_out
from trex.auditing.sweeping.examine import Asker
from trex.auditing.sweeping.facts import Facts
from trex.auditing.sweeping.lines import Lines
from trex.auditing.sweeping.records import TESTED, Examined
from trex.inference.scoring import images
from trex.scenes.prior import ScenePrior
from trex.scenes.vocabulary import CLEVR

MANY, FEW = 320, 120  # scenes of an audit for a rare and a frequent fault; rules are made from half of them
QUESTIONS = 16
SEVERITY = {"shape": 7.0}
Audited = tuple[list[Finding], float]


@cache
def scenes(n: int, revoked: str = "") -> tuple[list[Facts], Book]:
    """The scenes of an audit without these values, and the book of their pictures."""
    vocabulary = reduce(lambda known, value: known.revoke(value), revoked.split(), CLEVR)
    prior, book = ScenePrior(vocabulary, n_objects=(5, 6)), Book()
    book.render([prior.sample(np.random.default_rng([8, i])) for i in range(n)])
    return list(book.facts), book


def audited(folder: Path, view: View, cap: int = 10, n: int = MANY, revoked: str = "") -> Audited:
    """The findings of an audit of a planted model, and the share of mistakes that confirmed families hold."""
    known, book = scenes(n, revoked)
    asker = Asker(Planted(book, view, cap), CLEVR, QUESTIONS, 0, 0.9)
    rows: list[tuple[Facts, Examined]] = []
    for number, facts in enumerate(known):
        (image,) = images(book.render([facts.scene]))
        rows.append((facts, asker.examine(facts, image, number)))
    made, rest = rows[: n // 2], rows[n // 2 :]
    families = group([one for _, one in made], [facts for facts, _ in made], asker)
    seen = [held_out(family, rest, asker) for family in families]
    with Lines(folder / "tested.jsonl", TESTED) as log:
        for number, one in enumerate(seen):
            Confirmer(book, asker).confirm(number, one.family, one.failures[:5], log)
        owners = belonging(families, rest, asker)
        found = findings(seen, log.values, owners, SEVERITY)
    confirmed = {one.number for one in found if one.is_confirmed}
    return found, covered(owners, confirmed).value


def true_rate(holds: Callable[[Facts], bool]) -> float:
    """The share of the held-out scenes in which a fault shows."""
    return float(np.mean([holds(facts) for facts in scenes(FEW)[0][FEW // 2 :]]))


def differs(view: View) -> Callable[[Facts], bool]:
    """Whether a view differs from the scene."""
    return lambda facts: view(facts) != as_it_is(facts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("view", "conditions", "words"),
    [
        (
            small_things_at_the_back_are_missed,
            {"size small", "far back"},
            "A small object at the back is missed.",
        ),
        (
            left_is_right_under_a_low_camera,
            {"camera low"},
            "Left and right are confused when the camera is low.",
        ),
    ],
)
def test_the_first_family_names_the_planted_conditions(
    tmp_path: Path, view: View, conditions: set[str], words: str
) -> None:
    found, share = audited(tmp_path, view, n=FEW)
    first = found[0]
    assert first.is_confirmed and {one.key for one in first.family.conditions} == conditions
    assert first.words == words
    assert first.stays.hits == first.stays.of == 5
    assert first.rate_interval.low <= true_rate(differs(view)) <= first.rate_interval.high
    assert share > 0.8


def test_a_hidden_metal_cylinder_taken_for_a_cube(tmp_path: Path) -> None:
    found, _ = audited(tmp_path, hidden_metal_cylinders_are_cubes, revoked="sphere")
    assert found[0].words == "A metal cylinder less than 60\u00a0% visible is taken for a cube."
    assert found[0].is_confirmed
    assert all(row.blamed.endswith("metal cylinder, taken for cube") for row in found[0].shown)
    assert found[0].survives["without"][0] == 0.0  # without it nothing is wrong
    assert found[0].survives["noise"][0] == 1.0
    assert found[0].harm == pytest.approx(7.0 * found[0].rate * found[0].confidence)


def test_blue_beside_green(tmp_path: Path) -> None:
    found, _ = audited(tmp_path, blue_beside_green_is_swapped, revoked="gray brown purple cyan yellow")
    said = {
        "A blue object beside a green object is seen as green.",
        "A green object beside a blue object is seen as blue.",
    }
    assert found and {one.words for one in found[:2]} <= said


def test_a_count_that_is_capped_shows_by_the_questions(tmp_path: Path) -> None:
    found, _ = audited(tmp_path, as_it_is, CAP)
    assert "whose true answer is at least 3" in found[0].words and found[0].is_confirmed
    assert {one.key for one in found[0].family.conditions} == {"truth 3"}


def test_a_model_without_a_fault_has_no_family(tmp_path: Path) -> None:
    assert audited(tmp_path, as_it_is, n=FEW) == ([], 0.0)
