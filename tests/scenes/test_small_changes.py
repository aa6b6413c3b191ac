"""Small changes of a scene: valid, small, of the same objects; and none where no change is valid."""

from __future__ import annotations

import numpy as np
import pytest

from trex.scenes.moves.small_changes import RECOLORED, SmallChange
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import ATTRIBUTES, Scene
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import CLEVR

SIGMA, DRAWS = 0.05, 400


@pytest.fixture(scope="module")
def changes() -> tuple[Scene, list[Scene]]:
    """A scene of three objects and many small changes of it."""
    scene = ScenePrior(n_objects=(3, 3)).sample(np.random.default_rng(4))
    change, rng = SmallChange(CLEVR, SIGMA), np.random.default_rng(5)
    drawn = [change.draw(rng, scene)[0] for _ in range(DRAWS)]
    return scene, [item for item in drawn if item is not None]


def test_changes_are_valid_and_keep_the_order_of_objects(changes: tuple[Scene, list[Scene]]) -> None:
    scene, drawn = changes
    assert len(drawn) == DRAWS and all(is_valid(element, CLEVR) for element in drawn)
    for item in drawn:
        assert len(item.objects) == 3
        assert all(
            abs(a.x - b.x) < 6 * SIGMA and abs(a.y - b.y) < 6 * SIGMA
            for a, b in zip(item.objects, scene.objects, strict=True)
        )


def test_steps_have_the_stated_width_and_half_of_the_changes_have_another_value(
    changes: tuple[Scene, list[Scene]],
) -> None:
    scene, drawn = changes
    steps = np.array(
        [[a.x - b.x, a.y - b.y] for item in drawn for a, b in zip(item.objects, scene.objects, strict=True)]
    )
    assert np.std(steps) == pytest.approx(
        SIGMA, rel=0.1
    )  # invalid ones are redrawn, which narrows them a little
    shifts = np.array([np.subtract(item.nuisances.camera, scene.nuisances.camera) for item in drawn])
    assert np.std(shifts) == pytest.approx(SIGMA, rel=0.15)
    changed = [
        sum(
            getattr(a, name) != getattr(b, name)
            for a, b in zip(item.objects, scene.objects, strict=True)
            for name in ATTRIBUTES
        )
        for item in drawn
    ]
    assert set(changed) <= {0, 1}
    assert np.mean(changed) == pytest.approx(RECOLORED, abs=4 * np.sqrt(0.25 / DRAWS) + 0.05)
    assert len({item.noise for item in drawn}) == DRAWS


def test_a_scene_without_a_valid_neighbor_gives_none() -> None:
    scene = ScenePrior(n_objects=(3, 3)).sample(np.random.default_rng(4))
    crowded = Scene(scene.objects * 3, scene.nuisances)  # three objects in each place
    assert SmallChange(CLEVR, 0.001).draw(np.random.default_rng(0), crowded) == (None, 200)
