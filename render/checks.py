"""Checks that scenes can be rendered, before anything is started."""

from __future__ import annotations

from collections.abc import Sequence

from trex.foundation.errors import InputError, unknown
from trex.scenes.properties import RADIUS, RGB
from trex.scenes.scene import ATTRIBUTES, FARTHEST, MAX_SCENE_OBJECTS, NOISE_SEEDS, Scene, SceneObject
from trex.scenes.vocabulary import Vocabulary


def check_scenes(scenes: Sequence[Scene], vocabulary: Vocabulary) -> None:
    """Raise InputError if a scene has an unknown value or a non-finite number. A revoked value may be rendered."""
    for scene in scenes:
        if len(scene.objects) > MAX_SCENE_OBJECTS:
            raise InputError(
                f"cannot render a scene of {len(scene.objects)} objects; the limit is {MAX_SCENE_OBJECTS}"
            )
        for item in scene.objects:
            _check_object(item, vocabulary)
        _check_finite(scene.nuisances.coordinates, "a nuisance")
        if not 0 <= scene.noise < NOISE_SEEDS:
            raise InputError(f"noise {scene.noise} is out of range; give a seed from 0 to {NOISE_SEEDS - 1}")


def _check_object(item: SceneObject, vocabulary: Vocabulary) -> None:
    for attribute in ATTRIBUTES:
        value = getattr(item, attribute)
        if value not in vocabulary.values(attribute):
            fix = "Introduce it in [scene] or drop it." if attribute == "shape" else ""
            raise unknown(attribute, value, vocabulary.values(attribute), fix)
    if item.size not in RADIUS or item.color not in RGB:
        raise InputError(f"no radius or color is defined for {item.size!r}, {item.color!r}")
    _check_finite([item.x, item.y, item.rotation], "an object's x, y or rotation")


def _check_finite(numbers: list[float], what: str) -> None:
    for number in numbers:
        if not abs(number) <= FARTHEST:  # NaN is not either
            raise InputError(
                f"{what} is {number!r}; it must be a finite number from {-FARTHEST:g} to {FARTHEST:g}"
            )
