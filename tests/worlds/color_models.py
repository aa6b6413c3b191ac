"""A model with a failure of its own: it answers questions that mention brown with a number, whatever they ask."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trex.clevr_models.fake import ColorArea
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question

COLOR = "brown"
NAMED = "tests.worlds.color_models:counts_brown"
WIDTH = 0.1  # of the count, in things: nearly always sure of one number


class CountsOneColor(nn.Module):
    """Counts brown things if a question mentions brown; gives every answer the same mass if it does not."""

    def __init__(self, question: Question) -> None:
        super().__init__()
        self._mentions = any(COLOR in step.value_inputs for step in question.program)
        self._area = ColorArea(COLOR, width=WIDTH)

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) -> (B, 28)."""
        if not self._mentions:
            return torch.zeros(len(images), len(ANSWERS))
        rows = self._area.log_probs(images.permute(0, 2, 3, 1).numpy())
        return torch.from_numpy(rows.astype("float32"))


def counts_brown(question: Question) -> nn.Module:
    """For `package.module:factory`."""
    return CountsOneColor(question)
