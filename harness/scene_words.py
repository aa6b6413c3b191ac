"""A scene in words."""

from __future__ import annotations

from harness.strips import object_words
from scenes.scene import Scene


def scene_words(scene: Scene) -> str:
    """The objects of a scene, for those who do not see it."""
    items = ", ".join(object_words(scene, index) for index in range(len(scene.objects)))
    return f"Rendered scene with {len(scene.objects)} objects: {items}"
