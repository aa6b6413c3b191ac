"""Traffic signs in numpy's npz format: arrays images, labels, orig_wh_roi and, for training, track and frame."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.foundation.archives import DAMAGE_ERRORS, check_inflation
from trex.foundation.errors import InputError
from trex.foundation.files import MIB, read_bytes
from trex.mnist_models.data.signs.frames import FIX, SIDE_PX, Frames
from trex.mnist_models.data.signs.names import NAMES

LIMIT_BYTES = 512 * MIB  # all 39,209 frames in 32 pixels are 120 MB
KINDS = {"images": "u", "labels": "u", "orig_wh_roi": "iu", "track": "iu", "frame": "iu"}  # of numpy's dtypes
TRACKED = ("track", "frame")
MEMBER = ".npy"


def read_packed(path: Path, has_tracks: bool) -> Frames:
    """The frames in a file; InputError if it is damaged, holds objects, or lacks an array of the right form."""
    names = ("images", "labels", "orig_wh_roi", *(TRACKED if has_tracks else ()))
    found = _arrays(path, names)
    _check(path, found)
    wide = {name: found[name].astype(np.int64) for name in names[2:]}
    return Frames(
        found["images"].astype(np.uint8, copy=False),
        found["labels"].astype(np.uint8, copy=False),
        wide.get("track"),
        wide.get("frame"),
        wide["orig_wh_roi"],
    )


def _arrays(path: Path, names: tuple[str, ...]) -> dict[str, NDArray[np.generic]]:
    data = read_bytes(path, limit=LIMIT_BYTES)
    check_inflation(data, str(path), limit=LIMIT_BYTES)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            there = archive.namelist()
            missing = [name for name in names if f"{name}{MEMBER}" not in there]
            if missing:
                raise InputError(
                    f"{path} has no array {missing[0]!r} (it has {', '.join(there) or 'none'}); {FIX}"
                )
            for name in names:
                _check_header(path, archive, name)
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return {name: arrays[name] for name in names}
    except (*DAMAGE_ERRORS, OSError, MemoryError) as error:
        raise InputError(f"{path} is damaged ({error}); {FIX}") from error


def _check_header(path: Path, archive: zipfile.ZipFile, name: str) -> None:
    """InputError unless an array holds numbers, and as many bytes follow its header as it announces.

    numpy takes the memory that a header announces before it reads.
    """
    member = f"{name}{MEMBER}"
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise InputError(f"{path}: array {name!r} is of format {version}; save it with numpy.savez")
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        start = stream.tell()
    if dtype.hasobject or dtype.kind not in KINDS[name]:
        raise InputError(f"{path}: array {name!r} holds {dtype}; it must hold whole numbers; {FIX}")
    announced = int(np.prod(shape, dtype=object)) * dtype.itemsize
    there = archive.getinfo(member).file_size - start
    if announced != there:
        raise InputError(f"{path}: array {name!r} announces {announced:,} bytes, {there:,} are there; {FIX}")


def _check(path: Path, found: Mapping[str, NDArray[np.generic]]) -> None:
    images, labels = found["images"], found["labels"]
    n = len(images) if images.ndim else 0
    if images.dtype != np.uint8 or images.shape != (n, SIDE_PX, SIDE_PX, 3) or not n:
        raise InputError(
            f"{path}: images are {images.dtype} {images.shape}; they must be uint8 (N, 32, 32, 3); {FIX}"
        )
    for name, shape in {"labels": (n,), "orig_wh_roi": (n, 6), "track": (n,), "frame": (n,)}.items():
        if name in found and found[name].shape != shape:
            raise InputError(f"{path}: {name} are {found[name].shape}; they must be {shape}; {FIX}")
    if int(labels.max()) >= len(NAMES):
        raise InputError(f"{path} holds label {labels.max()}; labels are 0 to {len(NAMES) - 1}; {FIX}")
    for name in TRACKED:
        if name in found and int(found[name].min()) < 0:
            raise InputError(f"{path}: {name} {found[name].min()} is below 0; {FIX}")
    if int(found["orig_wh_roi"][:, :2].min()) < 1:
        raise InputError(f"{path}: orig_wh_roi names a frame without pixels; {FIX}")
