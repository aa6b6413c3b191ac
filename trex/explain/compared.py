"""What counts as explaining an answer: of a failure, only that the model is right after the change."""

from __future__ import annotations

from typing import Literal

import numpy as np

from trex.inference.attribution.leave_one_out import LOWEST_LOG, margin
from trex.inference.types import Floats
from trex.scenes.questions.answers import is_same
from trex.scenes.questions.truth import NO_ANSWER, is_wrong

Compared = Literal["truth", "answer", "level set"]


def compared(answer: str, truth: str, *, is_torn: bool = False) -> Compared:
    """What changes of a scene are compared by, if the model gives this answer to it.

    "truth": the answer is wrong, and a change explains that if the model is right about the changed scene. "answer": it
    is right, or the question has no true answer, and a change explains it if the model gives another answer. "level
    set": the target wants no sure answer (`is_torn`), and a change explains a hit if the scene leaves the level set.
    """
    if is_torn:
        return "level set"
    return "answer" if truth == NO_ANSWER or is_same(answer, truth) else "truth"


def is_right(answer: str, truth: str) -> bool:
    """Whether an answer is the true one; False if there is none."""
    return is_wrong(answer, truth) is False


def distance_from_right(log_probs: Floats, labels: tuple[str, ...], truth: str) -> float:
    """Log odds of the best wrong answer over the true one, (K,) -> number; below 0 the model is right."""
    right = next((k for k, label in enumerate(labels) if is_same(label, truth)), None)
    if right is not None:
        return -margin(log_probs, right)
    return max(float(np.max(log_probs)), LOWEST_LOG) - LOWEST_LOG


def compared_words(by: Compared, truth: str) -> str:
    """What counts, as a sentence; `truth` is that of the unchanged scene."""
    if by == "truth":
        return "A change explains a wrong answer if the model is right after it, by the truth of the changed scene."
    if by == "level set":
        return "The target wants no sure answer, so a change counts if the scene leaves the level set."
    why = "The question has no true answer in this scene" if truth == NO_ANSWER else "The answer is right"
    return f"{why}, so answers alone are compared: a change counts if the model gives another one, right or wrong."
