"""Scenes like a family's failures: the conditions are kept, and the shares are those of the planted fault."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.trex.auditing.in_memory import FEW, scenes
from tests.trex.auditing.planted_models import (
    Book,
    Planted,
    View,
    as_it_is,
    left_is_right_under_a_low_camera,
    small_things_at_the_back_are_missed,
)
from trex.auditing.examine import Asker
from trex.auditing.judging.membership import ExaminedScene
from trex.auditing.probe import CHANGES, Prober, probe_shares
from trex.auditing.records import PROBED, Probed
from trex.families.discover import conditions_of
from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.symptom import Symptom
from trex.inference.scoring import images
from trex.inference.statistics.proportion import Proportion
from trex.scenes.graph import Facts
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR
from trex.trials.lines import Lines

QUESTIONS, MEMBERS = 30, 2
MISSED, MIRRORED = Symptom("object", "missed"), Symptom("scene", "left and right")


def family(symptom: Symptom, *keys: str) -> Family:
    known = {condition.key: condition for condition in conditions_of(CLEVR)[symptom.level]}
    return Family(Pattern.of(known[key] for key in keys), symptom)


BACK, SMALL, CAMERA = (
    family(MISSED, "size small", "far back"), family(MISSED, "size small"), family(MIRRORED, "camera low"),
)  # fmt: skip


def asker(view: View, book: Book) -> Asker:
    return Asker(Planted(book, view), CLEVR, QUESTIONS, 0, 0.9)


@cache
def members(view: View, item: Family) -> tuple[tuple[int, Scene], ...]:
    """Known failures of a family."""
    book, found = Book(), list[tuple[int, Scene]]()
    for number, facts in enumerate(scenes(FEW)[0]):
        (image,) = images(book.render([facts.scene]))
        seen = asker(view, book).examine(facts, image, number)
        if ExaminedScene(facts, seen, asker(view, book)).failing(item)[0]:
            found.append((number, facts.scene))
        if len(found) == MEMBERS:
            break
    return tuple(found)


def probed(
    folder: Path, view: View, item: Family, n: int, shows: View | None = None
) -> tuple[list[Probed], list[Facts]]:
    """Probes of a model with one fault from the failures of another, and the scenes that were rendered."""
    book = Book()
    with Lines(folder / "probed.jsonl", PROBED) as log:
        Prober(book, asker(view, book), n).probe(3, item, members(shows or view, item), log)
        return log.values, book.facts


def shares(rows: list[Probed]) -> dict[str, Proportion]:
    return probe_shares(rows)


@pytest.mark.slow
def test_a_fault_without_exception_fails_in_each_way(tmp_path: Path) -> None:
    rows, rendered = probed(tmp_path, small_things_at_the_back_are_missed, BACK, 4)
    found = shares(rows)
    assert set(found) == set(CHANGES)
    assert all(found[way].value == 1.0 for way in ("noise", "camera", "lights"))
    assert found["objects"].value >= 0.5  # the questions may pass by the object
    holds = [BACK.holds(facts).any() for facts in rendered]
    assert rendered and all(holds)


@pytest.mark.slow
def test_a_rule_that_is_too_wide_fails_less(tmp_path: Path) -> None:
    """Small objects are missed at the back alone: of scenes that keep only "small", some do not fail."""
    rows, _ = probed(tmp_path, small_things_at_the_back_are_missed, SMALL, 8)
    assert shares(rows)["objects"].value < 1.0


def test_a_model_without_the_fault_does_not_fail(tmp_path: Path) -> None:
    """The planted bug would take over the verdict on the known failure."""
    rows, _ = probed(tmp_path, as_it_is, BACK, 2, small_things_at_the_back_are_missed)
    assert rows and all(share.count == 0 for share in shares(rows).values())


def test_another_camera_keeps_the_conditions_on_it(tmp_path: Path) -> None:
    rows, rendered = probed(tmp_path, left_is_right_under_a_low_camera, CAMERA, 3)
    assert all(facts.scene.nuisances.camera[2] < -0.25 for facts in rendered)
    assert shares(rows)["camera"].value == 1.0 and shares(rows)["camera"].of == 3


@pytest.mark.slow
def test_stopped_anywhere_or_extended_later_it_makes_the_same_probes(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    whole, _ = probed(tmp_path / "one", small_things_at_the_back_are_missed, BACK, 2)
    probed(tmp_path, small_things_at_the_back_are_missed, BACK, 1)
    again, rendered = probed(tmp_path, small_things_at_the_back_are_missed, BACK, 2)
    assert again == whole and len(rendered) == len(CHANGES)


def test_probes_of_one_failure_are_one_cluster() -> None:
    """Eight probes of one failure that all fail say as much as one."""
    proportion = shares([Probed(0, "noise", 5, True)] * 8)["noise"]
    many = shares([Probed(0, "noise", k, True) for k in range(8)])["noise"]
    assert proportion.value == many.value == 1.0
    assert proportion.interval.low == pytest.approx(0.025) and many.interval.low > 0.6


def test_what_could_not_be_made_is_not_counted() -> None:
    assert shares([Probed(0, "noise", 5, None), Probed(0, "noise", 5, False)])["noise"].of == 1
    assert shares([Probed(0, "noise", 5, None)]) == {}
