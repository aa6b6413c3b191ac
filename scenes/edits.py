"""Named changes of a scene, one at a time, everything else identical: the ablations of explanations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from trex.foundation.errors import InputError, unknown
from trex.scenes.scene import ATTRIBUTES, Scene, with_attribute
from trex.scenes.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Edit:
    """One change: leaves out object `index` (attribute "") or sets one of its attributes to `value`."""

    index: int
    attribute: str = ""
    value: str = ""

    def apply(self, scene: Scene) -> Scene:
        """The changed scene; nuisances and every other object stay as they are."""
        if not self.attribute:
            return leave_out(scene, self.index)
        return set_attribute(scene, self.index, self.attribute, self.value)

    def describe(self, scene: Scene) -> str:
        """The change in words."""
        item = scene.objects[self.index]
        name = f"object {self.index} ({item.size} {item.color} {item.material} {item.shape})"
        return f"leave out {name}" if not self.attribute else f"{name}: {self.attribute} becomes {self.value}"


def leave_out(scene: Scene, index: int) -> Scene:
    """The scene without object `index`."""
    _check(scene, index)
    return replace(scene, objects=scene.objects[:index] + scene.objects[index + 1 :])


def set_attribute(scene: Scene, index: int, attribute: str, value: str) -> Scene:
    """The scene with shape, size, color or material of object `index` set to `value`."""
    _check(scene, index)
    if attribute not in ATTRIBUTES:
        raise unknown("attribute", attribute, ATTRIBUTES)
    old = scene.objects[index]
    new = with_attribute(old, attribute, value)
    return replace(scene, objects=(*scene.objects[:index], new, *scene.objects[index + 1 :]))


def _check(scene: Scene, index: int) -> None:
    if not 0 <= index < len(scene.objects):
        raise InputError(
            f"object {index} does not exist; the scene has objects 0 to {len(scene.objects) - 1}"
        )


def removals(scene: Scene) -> Iterator[Edit]:
    """For each object, the edit that leaves it out."""
    return (Edit(index) for index in range(len(scene.objects)))


def attribute_edits(scene: Scene, vocabulary: Vocabulary) -> Iterator[Edit]:
    """Every object's shape, size, color and material set to every other value, if the result is allowed."""
    for index, item in enumerate(scene.objects):
        for attribute in ATTRIBUTES:
            for value in vocabulary.values(attribute):
                changed = with_attribute(item, attribute, value)
                if value != getattr(item, attribute) and vocabulary.allows(changed):
                    yield Edit(index, attribute, value)
