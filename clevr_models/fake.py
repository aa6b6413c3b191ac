"""A simple classifier: it measures the area of one color and reports it as a number of things.

It is the fake of a CLEVR model: analytic, deterministic, microseconds per picture, and with level sets worth
searching (five brown things near the camera look like one red thing).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.interface.answers import ANSWERS, COLORS, COUNTS
from trex.clevr_models.interface.inputs import check_pictures
from trex.clevr_models.interface.question import Question
from trex.scenes.properties import RGB

OTHER_LOGIT = -12.0  # of an answer that is no number


@dataclass(frozen=True)
class ColorArea:
    """Bound to its question: how many things of `color` are there?"""

    color: str = "red"
    softness: float = 0.12  # tolerance of a color, in units of the pixel range [0, 1]
    unit: float = 0.012  # share of the picture that counts as one thing
    width: float = 0.25  # of the count, in things
    size: None = None  # of no use any more, but in the text by which runs know the model
    labels: tuple[str, ...] = ANSWERS

    def count(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        """(B, H, W, 3) in [0, 1] -> (B,): the soft area of the color, in things."""
        check_pictures(images)
        off = images.astype(np.float64) - np.array(RGB[self.color]) / 255.0
        likeness = np.exp(-0.5 * (off * off).sum(axis=3) / self.softness**2)  # (B, H, W)
        things: NDArray[np.float64] = likeness.mean(axis=(1, 2)) / self.unit
        return things

    def log_probs(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        """(B, H, W, 3) in [0, 1] -> (B, 28), natural log."""
        off = (self.count(images)[:, None] - np.arange(len(COUNTS))) / self.width  # (B, 11)
        logits = np.full((len(images), len(ANSWERS)), OTHER_LOGIT)
        logits[:, : len(COUNTS)] = -0.5 * off * off
        logits -= logits.max(axis=1, keepdims=True)
        log_probs: NDArray[np.float64] = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        return log_probs


@dataclass(frozen=True)
class FakeModel:
    """Answers any question by the area of the first color in its program's filters, red if there is none."""

    name: str = "fake"
    reads_words: ClassVar[bool] = False

    def bind(self, question: Question) -> ColorArea:
        words = (word for step in question.program for word in step.value_inputs)
        color = next((word for word in words if word in COLORS), "red")
        return ColorArea(color=color)


def fake() -> FakeModel:
    """For `--model clevr_models.fake:fake`."""
    return FakeModel()
