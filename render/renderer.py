"""What every renderer of scenes offers: Blender, the fake, a cache in front of either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from trex.render.picture import Picture
from trex.scenes.scene import Scene


class SceneRenderer(Protocol):
    """Scenes to pictures: same order, same length, the same scene always the same picture."""

    @property
    def key(self) -> str:
        """All that determines the pixels besides the scene."""

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        """One picture a scene."""

    def close(self) -> None:
        """Free what is held; a later render takes it again."""
