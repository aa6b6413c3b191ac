"""The protocol of all scene renderers: Blender, the fake, a cache in front of either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from trex.render.picture import Picture
from trex.scenes.scene import Scene


class SceneRenderer(Protocol):
    """Renders scenes: same order, same length, and always the same picture for the same scene."""

    @property
    def key(self) -> str:
        """Identifies everything that determines the pixels besides the scene."""

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        """One picture per scene."""

    def close(self) -> None:
        """Free the resources; a later render acquires them again."""
