"""Reads foreign pictures: only PNG, with bounds on bytes and pixels checked before decoding.

`Picture.losses` says what eight bits a channel without transparency could not hold; a picture whose meaning depends
on what cannot be kept is refused.
"""

from __future__ import annotations

import io
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError, TrexError
from trex.foundation.files import MIB, read_bytes, shown

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

FILE_LIMIT = 64 * MIB
MAX_PIXELS = 4096 * 4096  # a small file can decode to many more
BIT_DEPTH = 24  # where a PNG says how many bits a channel has (https://www.w3.org/TR/png-3/#11IHDR)
ORIENTATION = 0x0112  # EXIF's tag; 1 is upright
DEEP = "16 bits a channel, read at 8"
TRANSPARENT = "transparent parts, read as the color stored below them"
ANIMATED = "more than one frame; the first is read"
# How files begin that are given the ending of a PNG.
BEGINNINGS = {
    b"\xff\xd8\xff": "a JPEG",
    b"GIF8": "a GIF",
    b"RIFF": "a WebP",
    b"BM": "a BMP",
    b"II*\0": "a TIFF",
    b"MM\0*": "a TIFF",
    b"version https://git-lfs": "a pointer of Git LFS",
}


class Picture(NamedTuple):
    """The pixels of a file, (H, W, 3) or (H, W), and what of its content they lack."""

    pixels: NDArray[np.uint8]
    losses: tuple[str, ...]


def read_png(path: Path) -> NDArray[np.uint8]:
    """A PNG file as (H, W, 3); InputError for any other file."""
    return decode_png(read_bytes(path, limit=FILE_LIMIT), shown(path))


def read_picture(path: Path, inside: Path) -> Picture:
    """A PNG file (H, W, 3) below a folder, reached by no link in it, with its losses; InputError for any other."""
    return decode_picture(read_bytes(path, limit=FILE_LIMIT, inside=inside), shown(path))


def decode_png(
    data: bytes,
    where: str,
    *,
    mode: str = "RGB",
    max_pixels: int = MAX_PIXELS,
    error: type[TrexError] = InputError,
) -> NDArray[np.uint8]:
    """The picture in the bytes of a PNG; `where` names it in the error."""
    return decode_picture(data, where, mode=mode, max_pixels=max_pixels, error=error).pixels


def decode_picture(
    data: bytes,
    where: str,
    *,
    mode: str = "RGB",
    max_pixels: int = MAX_PIXELS,
    error: type[TrexError] = InputError,
) -> Picture:
    """As `decode_png`, with what eight bits a channel could not hold."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            width, height = image.size
            if width * height > max_pixels:
                raise error(
                    f"{where} has {width}x{height} pixels, more than the limit of {max_pixels:,}; make it smaller"
                )
            pixels = _converted(image, mode)
            _check_upright(image, where, error)
            return Picture(pixels, _losses(image, data[BIT_DEPTH]))
    except TrexError:  # some are a ValueError
        raise
    except UnidentifiedImageError as problem:
        raise error(f"{where} is not a readable PNG{_instead(data)}") from problem
    except (OSError, ValueError, SyntaxError, EOFError, struct.error, zlib.error) as problem:
        raise error(
            f"{where} is not a readable PNG ({type(problem).__name__}: {problem}); get it again"
        ) from problem
    except Image.DecompressionBombError as problem:
        raise error(f"{where} is not a readable PNG ({problem}); make it smaller") from problem


def _converted(image: PilImage, mode: str) -> NDArray[np.uint8]:
    """The pixels of an open picture in another mode; Pillow cuts 16 bits of gray off at 255 instead of scaling."""
    if not image.mode.startswith("I"):
        has_key = image.mode == "P" and "transparency" in image.info  # Pillow warns unless it goes over RGBA
        return np.asarray((image.convert("RGBA") if has_key else image).convert(mode))
    gray = np.rint(np.asarray(image, np.float64) / 257).astype(np.uint8)
    return gray if mode == "L" else np.repeat(gray[:, :, None], 3, axis=2)


def _losses(image: PilImage, depth: int) -> tuple[str, ...]:
    """What is lost of an open picture with this many bits a channel."""
    found = (
        (DEEP, depth == 16),
        (TRANSPARENT, _is_transparent(image, depth)),
        (ANIMATED, _is_animated(image)),
    )
    return tuple(words for words, is_so in found if is_so)


def _is_transparent(image: PilImage, depth: int) -> bool:
    """Whether a pixel is not opaque: most CLEVR pictures have an alpha channel that is opaque everywhere."""
    if "A" in image.getbands():
        return bool(np.asarray(image.getchannel("A")).min() < 255)
    key = image.info.get("transparency")
    if key is None:
        return False
    if depth == 16:
        return True  # the converted pixels no longer show the key
    if image.mode == "L":
        return bool(
            (np.asarray(image) == key * 255 // (2**depth - 1)).any()
        )  # Pillow scales pixels, not the key
    return bool(np.asarray(image.convert("RGBA").getchannel("A")).min() < 255)


def _is_animated(image: PilImage) -> bool:
    return getattr(image, "n_frames", 1) > 1


def _check_upright(image: PilImage, where: str, error: type[TrexError]) -> None:
    """Raise `error` for a picture that viewers turn or mirror and that models would be shown as it is stored."""
    turn: object = 1
    with suppress(OSError, ValueError, SyntaxError, TypeError, KeyError, struct.error):
        turn = image.getexif().get(ORIENTATION, 1)
    if isinstance(turn, int) and 2 <= turn <= 8:
        raise error(
            f"{where} has EXIF orientation {turn}: viewers turn or mirror it, models would not; "
            "save it upright, without the tag"
        )


def _instead(data: bytes) -> str:
    """What the bytes are instead of a PNG, and what to do."""
    if not data:
        return ": it is empty; get it again"
    found = next((kind for begin, kind in BEGINNINGS.items() if data.startswith(begin)), "")
    if found.startswith("a pointer"):
        return f" but {found}; fetch the files: git lfs pull"
    return f" but {found}; convert it, a new ending is not enough" if found else "; give a PNG file"
