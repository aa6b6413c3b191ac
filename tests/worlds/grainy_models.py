"""A model that sees the renderer's noise: sure of "1" where the picture is a little brighter than usual."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question

NAMED = "tests.worlds.grainy_models:brightness"
EDGE, SLOPE = (
    0.535,
    600.0,
)  # of the upper left corner, which shows the ground; the fake's grain moves it by about .01


class Brightness(nn.Module):
    """Sure of "1" above the edge and of "0" below; near it, another noise draw gives the other answer."""

    def forward(self, images: Tensor) -> Tensor:
        """(B, 3, H, W) -> (B, 28)."""
        excess = SLOPE * (images[:, :, :4, :4].mean(dim=(1, 2, 3)) - EDGE)
        logits = torch.full((len(images), len(ANSWERS)), -20.0)
        logits[:, ANSWERS.index("1")] = excess
        logits[:, ANSWERS.index("0")] = 0.0
        return logits


def brightness(question: Question) -> nn.Module:
    """For `package.module:factory`."""
    return Brightness()
