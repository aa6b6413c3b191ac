"""Objects in words."""

from __future__ import annotations

from dataclasses import replace

from trex.scenes.describe import object_words
from trex.scenes.scene import Nuisances, Scene, SceneObject


def test_an_object_like_one_that_was_named_is_the_other_one() -> None:
    """Planted bug: "the small green cylinder is read as a cube; without the small green cylinder ..."."""
    first = SceneObject("cylinder", "small", "green", "rubber", 0.0, 0.0, 0.0)
    scene = Scene((first, replace(first, x=1.0, rotation=2.0), replace(first, material="metal")), Nuisances())
    assert object_words(scene, 1) == "small green rubber cylinder"
    assert object_words(scene, 1, beside=[0]) == "other small green rubber cylinder"
    assert object_words(scene, 2, beside=[0, 1]) == "small green metal cylinder"
