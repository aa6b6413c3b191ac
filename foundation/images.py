"""Reads foreign pictures: only PNG, with bounds on bytes and pixels checked before decoding."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError, TrexError
from trex.foundation.files import MIB, read_bytes, shown

FILE_LIMIT = 64 * MIB
MAX_PIXELS = 4096 * 4096  # a small file can decode to many more


def read_png(
    path: Path,
    *,
    mode: str = "RGB",
    max_pixels: int = MAX_PIXELS,
    follow_links: bool = True,
    error: type[TrexError] = InputError,
) -> NDArray[np.uint8]:
    """A PNG file as (H, W, 3), or (H, W) in mode "L"; raises `error` for any other file."""
    data = read_bytes(path, limit=FILE_LIMIT, follow_links=follow_links, error=error)
    return decode_png(data, shown(path), mode=mode, max_pixels=max_pixels, error=error)


def decode_png(
    data: bytes,
    where: str,
    *,
    mode: str = "RGB",
    max_pixels: int = MAX_PIXELS,
    error: type[TrexError] = InputError,
) -> NDArray[np.uint8]:
    """The picture in the bytes of a PNG; `where` names it in the error."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            width, height = image.size
            if width * height > max_pixels:
                raise error(
                    f"{where} has {width}x{height} pixels, more than the limit of {max_pixels:,}; make it smaller"
                )
            return np.asarray(image.convert(mode))
    except UnidentifiedImageError as problem:
        raise error(f"{where} is not a readable PNG; give a PNG file") from problem
    except (OSError, ValueError, SyntaxError, EOFError, struct.error, zlib.error) as problem:
        raise error(
            f"{where} is not a readable PNG ({type(problem).__name__}: {problem}); get it again"
        ) from problem
    except Image.DecompressionBombError as problem:
        raise error(f"{where} is not a readable PNG ({problem}); make it smaller") from problem
