"""A repair renders and reads the first scenes before the last ones are drawn: a crowded one takes up to 0.4 s."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trex.repair.scenes.loaded import SceneLoaded
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Nuisances, Scene


class Told:
    """A bank, its renderer, a reader and a progress display, which note what is asked of them, in order."""

    def __init__(self) -> None:
        self.notes: list[tuple[object, ...]] = []
        self.renderer = self

    def draw_ahead(self, numbers: range) -> None:
        self.notes.append(("ahead", len(numbers)))

    def scenes(self, numbers: range) -> list[Scene]:
        self.notes.append(("drawn", len(numbers)))
        return [Scene((), Nuisances())] * len(numbers)

    def render(self, scenes: Sequence[Scene]) -> list[Any]:
        self.notes.append(("rendered", len(scenes)))
        return [SimpleNamespace(of=scene) for scene in scenes]

    def read(self, scenes: Sequence[Scene], pictures: Sequence[Any]) -> list[Any]:
        return [picture.of for picture in pictures]

    def progress(self, step: str, done: int, total: int | None, /, *facts: str) -> None:
        self.notes.append((step, done, total))


@pytest.mark.parametrize("reads", [True, False], ids=["read", "pictures"])
def test_the_first_scenes_are_rendered_before_the_last_are_drawn(reads: bool) -> None:
    """Planted bug: a repair said nothing for minutes, until all 3,000 scenes were drawn."""
    told: Any = Told()
    loaded = SceneLoaded(ScenePrior(), Path(), told, told.read, told, told, told, batch=2)
    found = (loaded.seen_of_bank if reads else loaded.of_bank)(range(3), told.progress, "scenes")
    assert len(found) == 3
    assert told.notes == [
        ("ahead", 3),
        *(("drawn", 2), ("rendered", 2), ("scenes", 2, 3)),
        *(("drawn", 1), ("rendered", 1), ("scenes", 3, 3)),
    ]
