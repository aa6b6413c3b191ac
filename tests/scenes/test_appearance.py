"""How much of an object is visible, and what hides it: against scenes in which one stands before another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from trex.scenes.appearance import FULLY, MOSTLY, PARTLY, Appearance, appearance
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Nuisances, Scene, SceneObject
from trex.scenes.validity import BEHIND
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import CLEVR


def behind(gap: float, aside: float = 0.0) -> Scene:
    """A small sphere `gap` units behind a large cylinder, and `aside` units to its right."""
    x, y = gap * BEHIND[0] - aside * BEHIND[1], gap * BEHIND[1] + aside * BEHIND[0]
    return Scene(
        (
            SceneObject("cylinder", "large", "gray", "rubber", 0.0, 0.0, 0.0),
            SceneObject("sphere", "small", "red", "metal", x, y, 0.0),
        ),
        Nuisances(),
    )


@pytest.mark.parametrize(
    ("aside", "seen"),
    [(0.0, MOSTLY), (0.9, PARTLY), (1.5, FULLY), (-1.5, FULLY), (-0.9, PARTLY)],
)
def test_an_object_behind_another_is_hidden_by_it_as_far_as_it_overlaps(aside: float, seen: str) -> None:
    hidden = appearance(behind(1.2, aside), 1, CLEVR)
    assert hidden.seen == seen
    assert hidden.hider == (None if seen == FULLY else ("large", "cylinder"))
    assert appearance(behind(1.2, aside), 0, CLEVR).seen == FULLY  # it stands in front


def test_the_visible_share_is_that_of_the_pixels_that_it_would_have_alone() -> None:
    rng = np.random.default_rng(20_270)
    levels = set()
    for scene in (ScenePrior(CLEVR, (8, 8)).sample(rng) for _ in range(20)):
        whole = id_map(scene, CLEVR)
        for index, item in enumerate(scene.objects):
            alone = id_map(replace(scene, objects=(item,)), CLEVR) == 1
            share = (whole == index + 1).sum() / alone.sum()
            expected = FULLY if share >= 0.9 else PARTLY if share >= 0.5 else MOSTLY
            found = appearance(scene, index, CLEVR)
            levels.add(found.seen)
            assert found.seen == expected
            assert (found.hider is None) == (expected == FULLY)
    assert levels == {FULLY, PARTLY, MOSTLY}


def test_the_words_name_what_decides() -> None:
    sphere = appearance(behind(1.2), 1, CLEVR)
    assert sphere.words == "a small red metal sphere mostly hidden by a large cylinder"
    assert replace(sphere, deciding=("size", "material", "shape"), seen=PARTLY).words == (
        "a small metal sphere partly hidden by a large cylinder"
    )
    assert Appearance(sphere.category, ("color",)).words == "a red object in full view"


def test_objects_are_alike_if_they_agree_in_all_that_counts_in_either() -> None:
    red = Appearance(("sphere", "small", "red", "metal"), ("shape", "size"))
    blue = Appearance(("sphere", "small", "blue", "metal"), ("shape",))
    assert red.is_like(blue) and blue.is_like(red)
    assert not red.is_like(replace(blue, deciding=("shape", "color")))
    assert not replace(red, deciding=("shape", "color")).is_like(blue)
    assert not red.is_like(replace(blue, seen=PARTLY))
    assert not replace(red, seen=PARTLY, hider=("large", "cube")).is_like(
        replace(blue, seen=PARTLY, hider=("small", "cube"))
    )
    assert red.shared([blue]).deciding == ("shape", "size")
    assert replace(red, deciding=("shape", "color")).shared([blue]).deciding == ("shape",)
