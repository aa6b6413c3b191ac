"""Converts linear light to the bytes that Blender's view transform Standard would save."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trex.render.picture import Bytes


def to_srgb(linear: NDArray[np.float32]) -> Bytes:
    """Linear light, any shape, to sRGB bytes (IEC 61966-2-1), clipped and rounded.

    Raises ValueError for NaN: such a picture is invalid.
    """
    if np.isnan(linear).any():
        raise ValueError("the renderer produced pixels that are not numbers")
    light = np.clip(linear, 0.0, 1.0)
    curve = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** np.float32(1 / 2.4) - 0.055)
    return (curve * 255.0 + 0.5).astype(np.uint8)
