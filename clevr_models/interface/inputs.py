"""Checks on pictures that every CLEVR model relies on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import ModelError

ASPECT = (3, 2)  # CLEVR's pictures are 480x320


def eight_bits(picture: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Channels in [0, 1] as the nearest of 0 to 255: what the renderer wrote, and what other programs take."""
    levels: NDArray[np.uint8] = np.rint(picture * 255).astype(np.uint8)
    return levels


def check_pictures(images: NDArray[np.float32]) -> None:
    """Raise ModelError unless images are float32 (B, H, W, 3) in [0, 1], in the ratio 3:2.

    Models resize any input. A picture of another aspect (320x240, as the published inspection code rendered) is
    then squashed and shows another field of view, so no number measured on it holds for CLEVR.
    """
    if images.ndim != 4 or images.shape[3] != 3 or images.dtype != np.float32:
        raise ModelError(
            f"pictures are {images.dtype} {images.shape}; a model needs float32 (B, H, W, 3) in [0, 1]"
        )
    height, width = images.shape[1:3]
    if width * ASPECT[1] != height * ASPECT[0]:
        raise ModelError(
            f"pictures are {width}x{height}; CLEVR's have the aspect ratio 3:2: render 480x320, 240x160, ..."
        )
    if images.size and not (float(images.min()) >= 0.0 and float(images.max()) <= 1.0):
        raise ModelError(f"pixels reach from {images.min():g} to {images.max():g}; they must lie in [0, 1]")
