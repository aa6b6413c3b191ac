"""A target as a model of the user's, and the referee as the renderer: what `trex audit` and `trex find` are run on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import environ
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted.referee import Referee
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.scene import Scene

SURE = 0.97


@dataclass(frozen=True)
class Asked:
    """The target as a callable model; sure of each answer, and undecided about pictures that it was never shown."""

    referee: Referee

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        """(B, 28) probabilities for pictures (B, H, W, 3) in [0, 1]."""
        rows = np.full((len(pictures), len(ANSWERS)), (1.0 - SURE) / (len(ANSWERS) - 1))
        for row, picture in zip(rows, pictures, strict=True):
            answer = self.referee.answers_to(np.rint(picture[:1] * 255.0).astype(np.uint8), question)
            if answer in ANSWERS:
                row[ANSWERS.index(answer)] = SURE
            else:
                row[:] = 1.0 / len(ANSWERS)
        return rows


@contextmanager
def rendering(referee: Referee, folder: Path) -> Iterator[None]:
    """Within it, preset `fake` renders by the referee, and banks lie in `folder`."""

    def render(renderer: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        return [referee.shown(scene) for scene in zs]

    with (
        patch.object(FakeRenderer, "render", render),
        patch.dict(environ, TREX_BANK=str(folder)),
    ):
        yield
