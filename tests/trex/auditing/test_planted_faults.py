"""A model with one planted fault: the first family names its conditions, all of them and no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.trex.auditing.in_memory import FEW, audited, scenes
from tests.trex.auditing.planted_models import (
    CAP,
    View,
    as_it_is,
    blue_beside_green_is_swapped,
    hidden_metal_cylinders_are_cubes,
    left_is_right_under_a_low_camera,
    small_things_at_the_back_are_missed,
)
from trex.auditing.judging.membership import mistakes_of
from trex.auditing.records import Examined, Mistake
from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.symptom import Symptom
from trex.scenes.graph import Facts
from trex.scenes.misreading import Misreading
from trex.scenes.scene import Nuisances, Scene, SceneObject

SEVERITY = {"shape": 7.0}


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
            "The model misses a small object where it is at the back.",
        ),
        (
            left_is_right_under_a_low_camera,
            {"camera low"},
            "The model confuses left and right when the camera is low.",
        ),
    ],
)
def test_the_first_family_names_the_planted_conditions(
    tmp_path: Path, view: View, conditions: set[str], words: str
) -> None:
    found, share = audited(tmp_path, view, n=FEW)
    first = found[0]
    assert (
        first.is_confirmed and {condition.key for condition in first.family.pattern.conditions} == conditions
    )
    assert first.words == words
    assert first.stays.count == first.stays.of == 5
    assert first.rate_interval.low <= true_rate(differs(view)) <= first.rate_interval.high
    assert share > 0.8


@pytest.mark.slow
def test_a_hidden_metal_cylinder_taken_for_a_cube(tmp_path: Path) -> None:
    found, _ = audited(tmp_path, hidden_metal_cylinders_are_cubes, revoked="sphere", severity=SEVERITY)
    assert found[0].words == "The model reads a metal cylinder as a cube where it is less than 60% visible."
    assert found[0].is_confirmed
    assert all(row.blamed.endswith("metal cylinder, read as a cube") for row in found[0].shown)
    assert found[0].survives["noise"][0] == 1.0
    changes = [row.flip.change for row in found[0].shown if row.flip is not None]
    undone = ("metal cylinder becomes rubber", "metal cylinder becomes large", " is left out")
    assert len(changes) == len(found[0].shown), "a mistake that outlasts noise has a change looked for"
    assert all(change.endswith(undone) for change in changes), "each undoes a condition of the fault"
    assert found[0].harm == pytest.approx(7.0 * found[0].rate * found[0].confidence)


@pytest.mark.slow
def test_blue_beside_green(tmp_path: Path) -> None:
    found, _ = audited(tmp_path, blue_beside_green_is_swapped, revoked="gray brown purple cyan yellow")
    texts = {
        "The model sees a blue object as green where it is beside a green object.",
        "The model sees a green object as blue where it is beside a blue object.",
    }
    assert found and {finding.words for finding in found[:2]} <= texts
    # Planted bug: of two objects with exchanged values, only the first one's mistakes were asked again.
    assert all(finding.is_confirmed and finding.stays.count == finding.stays.of > 0 for finding in found[:2])


@pytest.mark.slow
def test_a_count_that_is_capped_shows_by_the_questions(tmp_path: Path) -> None:
    found, _ = audited(tmp_path, as_it_is, CAP)
    assert "whose true answer is at least 3" in found[0].words and found[0].is_confirmed
    assert {condition.key for condition in found[0].family.pattern.conditions} == {"truth 3"}


def test_a_model_without_a_fault_has_no_family(tmp_path: Path) -> None:
    assert audited(tmp_path, as_it_is, n=FEW) == ([], 0.0)


def test_the_mistakes_of_two_exchanged_values_belong_to_both_objects() -> None:
    """Planted bug: the second object had failed, and there was nothing to ask about it again."""
    items = [
        SceneObject("cube", "small", color, "rubber", 2.0 * k, 0.0, 0.0)
        for k, color in enumerate(("green", "blue", "red"))
    ]
    scene = Scene(tuple(items), Nuisances())
    exchanged = (
        Misreading("color", 0, "blue"),
        Misreading("color", 1, "green"),
        Misreading("color", 2, "gray"),
    )
    mistakes = (Mistake(3, 0), Mistake(5, 0), Mistake(7, 2))
    examined = Examined(0, (), mistakes, exchanged, (), ())
    family = Family(Pattern(), Symptom("object", "color"))
    assert [mistakes_of(family, scene, examined, [k]) for k in range(3)] == [[3, 5], [3, 5], [7]]
    apart = replace(examined, misread=(Misreading("color", 0, "red"), *exchanged[1:]))
    assert mistakes_of(family, scene, apart, [1]) == []  # both are misread, but not by exchange
