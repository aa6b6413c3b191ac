"""Saving and reading the pictures of a run folder."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import RunError
from trex.inference.types import Picture
from trex.render.picture import Bytes
from trex.render.picture import Picture as ScenePicture
from trex.runs.folder import RunFolder
from trex.runs.picture_files import read_stored


def store_picture(folder: RunFolder, picture: Picture) -> str:
    """Save a picture as bytes, with its mask if it has one; return its name in the folder."""
    mask = picture.mask if isinstance(picture, ScenePicture) else None
    return folder.save_picture(as_bytes(picture.pixels), mask)


def as_bytes(pixels: Bytes | NDArray[np.float32]) -> Bytes:
    """Pixels for display: numbers in [0, 1] scaled and rounded to 0-255."""
    if pixels.dtype == np.uint8:
        return pixels.astype(np.uint8, copy=False)
    rounded: Bytes = np.rint(pixels * 255.0).astype(np.uint8)
    return rounded


def read_picture(folder: RunFolder, name: str, size: tuple[int, int] | None = None) -> tuple[Bytes, Bytes]:
    """Pixels (H, W, 3) and mask (H, W) of a saved picture of a scene; RunError if it is missing or damaged.

    `size` is its width and height; None takes the run's own.
    """
    path, stored = folder.picture_path(name), read_stored(folder.path, name)
    width, height = size or folder.manifest.facts.size
    if stored.mask is None or (stored.pixels.shape, stored.mask.shape) != (
        (height, width, 3),
        (height, width),
    ):
        shape = "no mask" if stored.mask is None else f"a mask {stored.mask.shape}"
        raise RunError(
            f"picture {path} is {stored.pixels.shape} with {shape} instead of {(height, width, 3)}; "
            "it was changed after the run stored it"
        )
    return stored.pixels, stored.mask
