"""A scene in words."""

from __future__ import annotations

from trex.scenes.scene import Scene


def object_words(scene: Scene, index: int) -> str:
    """An object in words: "small red metal cylinder"."""
    item = scene.objects[index]
    return f"{item.size} {item.color} {item.material} {item.shape}"


def scene_words(scene: Scene) -> str:
    """The objects of a scene in words, for readers who do not see it."""
    items = ", ".join(object_words(scene, index) for index in range(len(scene.objects)))
    return f"Rendered scene with {len(scene.objects)} objects: {items}"
