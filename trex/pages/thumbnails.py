"""Pictures of a baseline as they stand in its page: looked at by people, not measured."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

QUALITY = 88  # an official picture takes 25 kB so, 190 kB as PNG; a page may hold hundreds


@dataclass(frozen=True)
class Thumbnail:
    """A picture to be shown: its name, its data URL, and what is in it for those who do not see it."""

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
