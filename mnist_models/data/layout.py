"""The layout of pictures: (N, H, W) in gray and (N, H, W, C) in color outside of torch, (N, C, H, W) inside."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Shape = tuple[int, int, int]  # height, width, channels
DIGIT: Shape = (28, 28, 1)  # of every card that gives no other
P = TypeVar("P", np.uint8, np.float32)


def planes(pictures: NDArray[P]) -> NDArray[P]:
    """Pictures (N, H, W) or (N, H, W, C) as torch has them, (N, C, H, W)."""
    return pictures[:, None] if pictures.ndim == 3 else np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))


def from_planes(channels_first: NDArray[P]) -> NDArray[P]:
    """The inverse of `planes`: (N, 1, H, W) to (N, H, W), and (N, C, H, W) to (N, H, W, C)."""
    if channels_first.shape[1] == 1:
        return channels_first[:, 0]
    return np.ascontiguousarray(channels_first.transpose(0, 2, 3, 1))
