"""A model that misreads scenes by a planted fault, for audits and searches by the fake renderer.

It recognizes each picture by its bytes, so that what it misreads follows from the scene and not from the pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import environ
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.graph import Facts, facts_of
from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.questions.programs import InvalidProgram, execute_on
from trex.scenes.scene import Scene, SceneObject
from trex.scenes.vocabulary import CLEVR

Fault = Callable[[Facts, int, SceneObject], SceneObject]  # what an object is seen as
Floats = NDArray[np.float64]


@dataclass
class Misreader:
    """A model that answers any question about a scene as it misreads it; knows the scenes that it is shown."""

    fault: Fault
    sure: float = 0.99  # of each answer
    seen: dict[bytes, SceneSets] = field(default_factory=dict)

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> Floats:
        """(B, 28) probabilities for pictures (B, H, W, 3) in [0, 1]; of a picture of no scene all alike."""
        rows = np.full((len(pictures), len(ANSWERS)), (1.0 - self.sure) / (len(ANSWERS) - 1))
        for row, picture in zip(rows, pictures, strict=True):
            sets = self.seen.get(np.rint(picture * 255.0).astype(np.uint8).tobytes())
            if sets is None:
                row[:] = 1.0 / len(ANSWERS)
            else:
                row[ANSWERS.index(_answer(question, sets))] = self.sure
        return rows

    def shown(self, scene: Scene, picture: Picture) -> None:
        """Remember what the scene of a picture is read as."""
        if (key := picture.pixels.tobytes()) not in self.seen:
            self.seen[key] = scene_sets(misread(self.fault, facts_of(scene, CLEVR)))


def misread(fault: Fault, facts: Facts) -> Scene:
    """The scene as a model with this fault reads it."""
    items = (fault(facts, index, item) for index, item in enumerate(facts.scene.objects))
    return replace(facts.scene, objects=tuple(items))


def _answer(question: Question, sets: SceneSets) -> str:
    try:
        return execute_on(question.program, sets)
    except InvalidProgram:
        return "no"


@contextmanager
def showing(model: Misreader, cache: Path) -> Iterator[list[int]]:
    """Within it, the model knows each scene that the fake renderer draws; yields the number of pictures so far.

    Banks are kept below `cache`.
    """
    render, count = FakeRenderer.render, [0]

    def shown(renderer: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        pictures = list(render(renderer, zs))
        count[0] += len(pictures)
        for scene, picture in zip(zs, pictures, strict=True):
            model.shown(scene, picture)
        return pictures

    with (
        patch.object(FakeRenderer, "render", shown),
        patch.dict(environ, TREX_BANK=str(cache)),
    ):
        yield count
