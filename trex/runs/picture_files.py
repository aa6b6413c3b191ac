"""Pictures of a run as PNG files named by their content; reading one checks its hash."""

from __future__ import annotations

import hashlib
import io
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from trex.foundation.errors import RunError
from trex.foundation.files import MIB, read_bytes
from trex.foundation.words import quoted

PICTURES = "pictures"
NAME = re.compile("[0-9a-f]{32}")
MAX_PIXELS = 4096 * 4096
MAX_BYTES = 128 * MIB
MODES = ("RGB", "L")
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class StoredPicture:
    """A picture (H, W, 3 or 1) and its mask (H, W), None without objects, with the bytes of both files."""

    pixels: Bytes
    mask: Bytes | None
    png: bytes
    mask_png: bytes | None


class DamagedPicture(RunError):
    """A picture file is missing, damaged or has other content than its name says."""


def picture_file(run: Path, name: str) -> Path:
    """The path of the picture with this content hash."""
    return run / PICTURES / f"{name}.png"


def mask_file(run: Path, name: str) -> Path:
    """The path of its mask, if it has one."""
    return run / PICTURES / f"{name}.mask.png"


def content_hash(pixels: Bytes, mask: Bytes | None) -> str:
    """The name of a picture: 32 hexadecimal digits of the sha256 of shape, pixels and mask."""
    masks = b"" if mask is None else mask.tobytes()
    return hashlib.sha256(repr(pixels.shape).encode() + pixels.tobytes() + masks).hexdigest()[:32]


def read_stored(run: Path, name: str) -> StoredPicture:
    """The picture of this name in a run folder; DamagedPicture unless its content has this hash. Follows no link."""
    if not NAME.fullmatch(name):
        raise DamagedPicture(f"{name[:40]!r} is not the name of a picture (32 hexadecimal digits)")
    try:
        return _stored(run, name)
    except DamagedPicture as error:
        raise DamagedPicture(f"{error}; {_remedy(run, name)}") from error.__cause__


def _remedy(run: Path, name: str) -> str:
    """How to get a picture back: a resume renders one of a draw; others are made with the file that names them."""
    files = f"{run / PICTURES / name}.*"
    if not _holds(run / "draws.jsonl", name):
        made = [(path, f"trex explain {quoted(run)}") for path in sorted(run.glob("explanations/*.json"))]
        for path in sorted(run.glob("confirmations/*.json")):
            made.append((path, f"trex report {quoted(run)} --confirm {path.stem}"))
        for path, again in [*made, (run / "misses.json", f"trex resume {quoted(run)}")]:
            if _holds(path, name):
                return f"it belongs to {path}; delete that file and {files}, then: {again}"
    return (
        f"trex resume {quoted(run)} renders it again; if that ends with this message, this machine renders other "
        f"pictures than that of the search: copy {files} from there, or search again"
    )


def _holds(path: Path, name: str) -> bool:
    """Whether a file of a run names a picture; False if it cannot be read."""
    try:
        return name.encode() in read_bytes(path, error=RunError, inside=path.parent)
    except RunError:
        return False


def _stored(run: Path, name: str) -> StoredPicture:
    path = picture_file(run, name)
    png, mask_png = _read(run, path), None
    if os.path.lexists(mask_file(run, name)):
        mask_png = _read(run, mask_file(run, name))
    pixels, mask = _decoded(path, png), None if mask_png is None else _decoded(path, mask_png)[:, :, 0]
    if content_hash(pixels, mask) != name:
        raise DamagedPicture(
            f"picture {path} or its mask was changed after the run stored it (its hash differs)"
        )
    return StoredPicture(pixels, mask, png, mask_png)


def is_sound(run: Path, name: str) -> bool:
    """Whether the picture of this name is stored, and has this hash."""
    try:
        return bool(NAME.fullmatch(name) and _stored(run, name))
    except DamagedPicture:
        return False


def to_png(array: Bytes) -> bytes:
    """A picture (H, W, 3 or 1) or a mask (H, W) as a PNG file."""
    buffer = io.BytesIO()
    gray = array.ndim == 3 and array.shape[2] == 1
    Image.fromarray(array[:, :, 0] if gray else array).save(buffer, format="PNG", compress_level=6)
    return buffer.getvalue()


def _read(run: Path, path: Path) -> bytes:
    return read_bytes(path, limit=MAX_BYTES, error=DamagedPicture, inside=run)


def _decoded(path: Path, png: bytes) -> Bytes:
    """The pixels (H, W, 3), or (H, W, 1) of a gray picture."""
    try:
        with Image.open(io.BytesIO(png), formats=["PNG"]) as image:
            if image.width * image.height > MAX_PIXELS or image.mode not in MODES:
                raise ValueError(f"{image.width} x {image.height} pixels of kind {image.mode}")
            found: Bytes = np.asarray(image)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DamagedPicture(f"picture {path} or its mask is not a usable PNG ({error})") from error
    return found if found.ndim == 3 else found[:, :, None]
