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
    return url_of_png(png_bytes(pixels))


def url_of_png(png: bytes) -> str:
    """The data URL of a PNG file."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")
