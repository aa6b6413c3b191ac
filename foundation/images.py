"""Reads foreign pictures: PNG, and JPEG in data sets, with bounds on bytes and pixels checked before decoding.

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
MAX_SCANS = 100  # of a JPEG: each is decoded over all its pixels, and a few bytes are one
SCAN = b"\xff\xda"
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
    """A PNG or JPEG (H, W, 3) below a folder, reached by no link in it, with its losses; InputError for any other."""
    data = read_bytes(path, limit=FILE_LIMIT, inside=inside)
    return decode_picture(data, shown(path), formats=("PNG", "JPEG"))


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
    formats: tuple[str, ...] = ("PNG",),
) -> Picture:
    """As `decode_png`, with what eight bits a channel could not hold."""
    from PIL import Image, UnidentifiedImageError

    kinds = " or ".join(formats)
    try:
        with Image.open(io.BytesIO(data), formats=formats) as image:
            width, height = image.size
            if width * height > max_pixels:
                raise error(
                    f"{where} has {width}x{height} pixels, more than the limit of {max_pixels:,}; make it smaller"
                )
            is_png = image.format == "PNG"
            if not is_png:
                _check_jpeg(image, data, where, error)
            pixels = _converted(image, mode)
            _check_upright(image, where, error)
            return Picture(pixels, _losses(image, data[BIT_DEPTH] if is_png else 8))
    except TrexError:  # some are a ValueError
        raise
    except UnidentifiedImageError as problem:
        raise error(f"{where} is not a readable {kinds}{_instead(data, kinds)}") from problem
    except (OSError, ValueError, SyntaxError, EOFError, KeyError, struct.error, zlib.error) as problem:
        raise error(
            f"{where} is not a readable {kinds} ({type(problem).__name__}: {problem}); get it again"
        ) from problem
    except Image.DecompressionBombError as problem:
        raise error(f"{where} is not a readable {kinds} ({problem}); make it smaller") from problem


def _check_jpeg(image: PilImage, data: bytes, where: str, error: type[TrexError]) -> None:
    """Raise `error` for a JPEG in print colors, which have no one meaning on a screen, or of very many scans."""
    if image.mode not in ("L", "RGB"):
        raise error(f"{where} is a JPEG in {image.mode} colors; save it in RGB")
    if data.count(SCAN) > MAX_SCANS:
        raise error(f"{where} is a JPEG of more than {MAX_SCANS} scans; save it anew")


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


def _instead(data: bytes, kinds: str) -> str:
    """What the bytes are instead of these kinds of pictures, and what to do."""
    if not data:
        return ": it is empty; get it again"
    found = next((kind for begin, kind in BEGINNINGS.items() if data.startswith(begin)), "")
    if found[2:] in kinds.split(" or "):
        return ": it is damaged; get it again"
    if found.startswith("a pointer"):
        return f" but {found}; fetch the files: git lfs pull"
    return f" but {found}; convert it, a new ending is not enough" if found else f"; give a {kinds} file"
