"""Scenes at a dose: the right object has it, everything else stays, and what cannot be reached is left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from trex.curves.doses import QUANTITIES, quantity_named
from trex.curves.subject import Dosed, Subject, is_drawable, neighbor, visible_share
from trex.foundation.errors import InputError
from trex.scenes.graph import facts_of, gap
from trex.scenes.noise import fresh_draws
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.validity import MIN_PIXELS
from trex.scenes.visibility import id_map, visible_pixels
from trex.scenes.vocabulary import CLEVR

VISIBLE = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


@cache
def subjects(n: int = 3, seed: int = 7) -> tuple[Subject, ...]:
    """Prior scenes, each with a small object that a large one hides in part: its index differs."""
    rng, prior = np.random.default_rng(seed), ScenePrior(CLEVR, (4, 6))
    found: list[Subject] = []
    while len(found) < n:
        facts = facts_of(prior.sample(rng), CLEVR)
        for index, hider in enumerate(facts.hiders):
            sizes = facts.scene.objects[index].size, hider is not None and facts.scene.objects[hider].size
            if sizes == ("small", "large") and facts.shares[index] < 0.9:
                found.append(Subject(facts.scene, index))
                break
    return tuple(found)


def changed(over: str, doses: Sequence[float] = ()) -> list[tuple[Subject, float, Dosed]]:
    """Each subject at each dose that it reaches."""
    quantity = quantity_named(over)
    doses = doses or quantity.doses
    rows = [(subject, quantity.make(subject, doses, CLEVR)) for subject in subjects()]
    return [
        (subject, dose, dosed)
        for subject, row in rows
        for dose, dosed in zip(doses, row, strict=True)
        if dosed is not None
    ]


def moved(before: Scene, after: Scene) -> list[int]:
    """The objects that stand elsewhere; all else has to be the same."""
    assert (after.nuisances, after.noise) == (before.nuisances, before.noise)
    assert len(after.objects) == len(before.objects)
    places = [(a, replace(b, x=a.x, y=a.y)) for a, b in zip(before.objects, after.objects, strict=True)]
    assert all(a == b for a, b in places)
    pairs = enumerate(zip(before.objects, after.objects, strict=True))
    return [i for i, (a, b) in pairs if a != b]


def mislabelled(rows: Sequence[tuple[Subject, float, Dosed]]) -> list[float]:
    """The wanted shares that the misread object does not have, by a count of its own pixels."""

    def share(dosed: Dosed) -> float:
        item = dosed.scene.objects[dosed.misread]
        alone = (id_map(replace(dosed.scene, objects=(item,)), CLEVR) > 0).sum()
        return float((id_map(dosed.scene, CLEVR) == dosed.misread + 1).sum() / alone)

    return [dose for _, dose, dosed in rows if abs(share(dosed) - dose) > 0.0101]


@cache
def at_visible_shares() -> list[tuple[Subject, float, Dosed]]:
    return changed("visible", VISIBLE)


def test_the_misread_object_shows_the_share_that_the_dose_says() -> None:
    rows = at_visible_shares()
    assert mislabelled(rows) == []
    assert all(abs(dosed.measured - dose) <= 0.01 for _, dose, dosed in rows)
    assert {dose for _, dose, _ in rows} == set(VISIBLE)
    assert len(rows) >= 15  # of 18


def test_the_share_of_another_object_is_noticed() -> None:
    """A planted bug: doses of the object beside it."""
    wrong = [
        (subject, dose, dosed._replace(misread=neighbor(subject, CLEVR) or 0))
        for subject, dose, dosed in at_visible_shares()
    ]
    assert len(mislabelled(wrong)) > len(wrong) / 2


def test_only_the_neighbor_moves_when_the_visible_share_changes() -> None:
    for subject, _, dosed in at_visible_shares():
        other = neighbor(subject, CLEVR)
        assert moved(subject.scene, dosed.scene) in ([], [other])
        others = np.delete(visible_pixels(dosed.scene, CLEVR), subject.misread)
        assert dosed.scene == subject.scene or others.min() >= MIN_PIXELS


def test_a_share_that_the_scene_has_needs_no_change() -> None:
    for subject in subjects():
        share = visible_share(subject, CLEVR)
        (dosed,) = QUANTITIES["visible"].make(subject, (share,), CLEVR)
        assert dosed == Dosed(subject.scene, subject.misread, share)


def test_a_small_thing_cannot_hide_a_large_one() -> None:
    """Such scenes are left out at the shares that they cannot reach, and only there."""
    subject = subjects()[0]
    other = neighbor(subject, CLEVR)
    assert other is not None
    turned = Subject(subject.scene, other)
    row = QUANTITIES["visible"].make(turned, (0.1, 1.0), CLEVR)
    assert row[0] is None
    assert row[1] is not None


def test_distance_moves_the_misread_object_away_by_the_dose() -> None:
    rows = changed("distance", (-0.1, 0.0, 0.05, 0.4))
    for subject, dose, dosed in rows:
        other = neighbor(subject, CLEVR)
        assert other is not None
        assert moved(subject.scene, dosed.scene) in ([], [subject.misread])
        before, after = (
            gap(s.objects[subject.misread], s.objects[other]) for s in (subject.scene, dosed.scene)
        )
        assert after - before == pytest.approx(dose, abs=1e-9)
        assert dosed.measured == pytest.approx(dose, abs=1e-9)
        if dose == 0:
            assert dosed.scene == subject.scene


def test_size_scales_the_objects_width_and_keeps_its_visible_share() -> None:
    def width(subject: Subject) -> int:
        """Of the object alone, in pixels."""
        alone = id_map(replace(subject.scene, objects=(subject.item,)), CLEVR) > 0
        return int(alone.any(axis=0).sum())

    rows = changed("size", (0.8, 1.3))
    assert len(rows) >= 4  # of 6
    for subject, dose, dosed in rows:
        after = Subject(dosed.scene, dosed.misread)
        assert dosed.measured == pytest.approx(dose)
        if subject.item.shape != "cube":  # which turns with the direction that it is seen from
            assert width(after) / width(subject) == pytest.approx(dose, abs=0.06)
        assert visible_share(after, CLEVR) == pytest.approx(visible_share(subject, CLEVR), abs=0.0101)
        other = neighbor(subject, CLEVR)
        assert other is not None
        assert moved(subject.scene, dosed.scene) in ([], sorted((subject.misread, other)))


def test_scenes_of_more_objects_hold_those_of_fewer() -> None:
    quantity = QUANTITIES["objects"]
    for subject in subjects():
        row = [dosed for dosed in quantity.make(subject, quantity.doses, CLEVR) if dosed is not None]
        numbers = [len(dosed.scene.objects) for dosed in row]
        assert numbers == list(range(1, len(row) + 1)) == [dosed.measured for dosed in row]
        assert row[len(subject.scene.objects) - 1].scene == subject.scene
        for fewer, more in pairwise(row):
            assert set(fewer.scene.objects) < set(more.scene.objects)
        assert {dosed.scene.objects[dosed.misread] for dosed in row} == {subject.item}
        most, seen = row[-1], visible_pixels(subject.scene, CLEVR)[subject.misread]
        assert visible_pixels(most.scene, CLEVR)[most.misread] == seen


def test_noise_and_light_change_nothing_else() -> None:
    for subject, dose, dosed in changed("noise", (0.0, 1.0, 2.0)):
        assert replace(dosed.scene, noise=subject.scene.noise) == subject.scene
        assert (dosed.scene.noise == subject.scene.noise) == (dose == 0)
        assert dosed.scene not in fresh_draws(subject.scene, 8), (
            "planted bug: the seeds that had chosen the hit"
        )
    for subject, dose, dosed in changed("light"):
        assert dosed.scene.nuisances.key == (*subject.scene.nuisances.key[:2], dose)
        kept = replace(dosed.scene.nuisances, key=subject.scene.nuisances.key)
        assert replace(dosed.scene, nuisances=kept) == subject.scene


def test_every_changed_scene_can_be_drawn_and_is_made_the_same_again() -> None:
    for over, doses in (("distance", ()), ("objects", ())):
        rows = changed(over, doses)
        assert all(is_drawable(dosed.scene, CLEVR, hidden=dosed.misread) for _, _, dosed in rows)
        assert rows == changed(over, doses)


def test_an_object_by_itself_has_no_neighbor() -> None:
    subject = subjects()[0]
    alone = Subject(replace(subject.scene, objects=(subject.item,)), 0)
    assert neighbor(alone, CLEVR) is None
    for over in ("visible", "distance"):
        assert QUANTITIES[over].make(alone, (0.5, 1.0), CLEVR) == [None, None]


def test_doses_are_those_given_or_evenly_spaced() -> None:
    visible, objects = QUANTITIES["visible"], QUANTITIES["objects"]
    assert visible.chosen(None, ()) == visible.doses
    assert visible.chosen(5, ()) == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert visible.chosen(None, (0.6, 0.2, 0.6)) == (0.2, 0.6)
    assert objects.chosen(4, ()) == (1.0, 4.0, 7.0, 10.0)


@pytest.mark.parametrize(
    ("over", "dose"), [("visible", 1.2), ("objects", 2.5), ("objects", 11.0), ("light", 1.5)]
)
def test_a_dose_that_cannot_be_is_refused(over: str, dose: float) -> None:
    with pytest.raises(InputError, match=rf"dose {dose:g} of '{over}' is impossible; give .*from"):
        QUANTITIES[over].chosen(None, (dose,))
    with pytest.raises(InputError, match="did you mean 'visible'"):
        quantity_named("visibel")
