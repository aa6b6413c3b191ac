"""Pictures embedded in pages, for display only."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

QUALITY = 88  # an official picture then takes 25 kB, as PNG 190 kB; a page may hold hundreds


@dataclass(frozen=True)
class Thumbnail:
    """A picture for display: its name, its data URL, and its alternative text."""

    name: str
    url: str
    words: str


def jpeg_url(pixels: NDArray[np.uint8]) -> str:
    """A picture (H, W, 3) or (H, W, 1) as the data URL of a JPEG."""
    from PIL import Image

    buffer = io.BytesIO()
    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    image.save(buffer, "JPEG", quality=QUALITY)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
