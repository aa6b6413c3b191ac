"""Pictures embedded in pages, for display only."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from PIL.Image import Image

SMALL_PX = 64  # narrower pictures are enlarged without blurring, and take fewer bytes as PNG
QUALITY = 88  # an official picture then takes 25 kB, as PNG 190 kB; a page may hold hundreds
DATA_URL = re.compile("data:image/(png|jpeg);base64,([A-Za-z0-9+/=]+)")


@dataclass(frozen=True)
class Thumbnail:
    """A picture for display: its name, its data URL, and its alternative text."""

    name: str
    url: str
    words: str


def light_url(pixels: NDArray[np.uint8]) -> str:
    """A picture (H, W, 3) or (H, W, 1) as a data URL: a JPEG, or a PNG if it is small."""
    return _url(pixels, "png") if pixels.shape[1] < SMALL_PX else jpeg_url(pixels)


def jpeg_url(pixels: NDArray[np.uint8]) -> str:
    """A picture (H, W, 3) or (H, W, 1) as the data URL of a JPEG."""
    return _url(pixels, "jpeg")


def is_data_url(url: str) -> bool:
    """Whether this is the data URL of a PNG or a JPEG."""
    return DATA_URL.fullmatch(url) is not None


def picture_of(url: str) -> Image:
    """The picture in a data URL; ValueError if there is none."""
    from PIL import Image

    found = DATA_URL.fullmatch(url)
    if found is None:
        raise ValueError("it is no data URL of a PNG or JPEG")
    try:
        picture = Image.open(io.BytesIO(base64.b64decode(found[2], validate=True)), formats=["PNG", "JPEG"])
        picture.load()
    except (OSError, SyntaxError, Image.DecompressionBombError) as problem:
        raise ValueError(f"its picture cannot be decoded ({problem})") from problem
    return picture


def _url(pixels: NDArray[np.uint8], kind: str) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    image.save(buffer, kind, quality=QUALITY)
    return f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
