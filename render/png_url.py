"""Pictures as PNG, and embedded in a page."""

from __future__ import annotations

import base64
import io

import numpy as np
from numpy.typing import NDArray


def png_bytes(pixels: NDArray[np.uint8]) -> bytes:
    """A picture (H, W, 3) as a PNG file."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def png_url(pixels: NDArray[np.uint8]) -> str:
    """A picture (H, W, 3) as the data URL of a PNG."""
    return "data:image/png;base64," + base64.b64encode(png_bytes(pixels)).decode("ascii")
