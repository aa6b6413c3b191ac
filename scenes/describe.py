"""A scene in words."""

from __future__ import annotations

from collections.abc import Sequence

from trex.scenes.scene import Scene


def object_words(scene: Scene, index: int, beside: Sequence[int] = ()) -> str:
    """An object in words: "small red metal cylinder"; "other small ..." if one of those named before has the same."""
    item = scene.objects[index]
    is_alike = any(scene.objects[other].category == item.category for other in beside)
    return f"{'other ' if is_alike else ''}{item.size} {item.color} {item.material} {item.shape}"


def scene_words(scene: Scene) -> str:
    """The objects of a scene in words, for readers who do not see it."""
    items = ", ".join(object_words(scene, index) for index in range(len(scene.objects)))
    return f"Rendered scene with {len(scene.objects)} objects: {items}"
