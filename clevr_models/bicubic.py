"""Resizes pictures like Pillow does 8-bit pictures, to the bit, in torch: differentiable and in batches.

Pillow's bicubic filter (a = -0.5) widens when it shrinks a picture, stores its weights as multiples of 2**-22, and
rounds to 8 bits after the pass over the columns and again after the pass over the rows (Pillow, Resample.c). Float
resizing differs from that by up to several gray levels at edges.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

SHARPNESS = -0.5
SUPPORT = 2.0  # pixels, before widening
PRECISION = 2.0**22


def resize_8bit(images: Tensor, height: int, width: int) -> Tensor:
    """(B, C, H, W) in [0, 1] -> (B, C, height, width) of integers 0 to 255, float64.

    Gradients pass as if there were no rounding.
    """
    x = _round(images.double() * 255)
    across = torch.from_numpy(weights(x.shape[3], width)).to(x.device)  # (width, W)
    down = torch.from_numpy(weights(x.shape[2], height)).to(x.device)  # (height, H)
    x = _round(x @ across.T).clamp(0, 255)
    return _round(down @ x).clamp(0, 255)


def _round(x: Tensor) -> Tensor:
    """Rounded half up; the gradient is that of x."""
    return x + (torch.floor(x + 0.5) - x).detach()


@lru_cache(maxsize=32)
def weights(size: int, new_size: int) -> NDArray[np.float64]:
    """(wanted, size): the weight of each of `size` pixels in a row for each of `new_size`."""
    scale = size / new_size
    widened = max(scale, 1.0)
    table = np.zeros((new_size, size))
    for target in range(new_size):
        center = (target + 0.5) * scale
        first = max(int(center - SUPPORT * widened + 0.5), 0)
        end = min(int(center + SUPPORT * widened + 0.5), size)
        row = _bicubic((np.arange(first, end, dtype=np.float64) - center + 0.5) / widened)
        row = row / row.sum() * PRECISION
        table[target, first:end] = np.trunc(row + np.copysign(0.5, row)) / PRECISION
    return table


def _bicubic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Keys' cubic kernel (1981), a = SHARPNESS."""
    a, x = SHARPNESS, np.abs(x)
    near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    far = (((x - 5.0) * x + 8.0) * x - 4.0) * a
    return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))
