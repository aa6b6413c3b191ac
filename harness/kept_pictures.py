"""Pictures of a run folder, read back."""

from __future__ import annotations

import numpy as np
from PIL import Image

from harness.run_folder import RunFolder
from render.picture import Bytes
from scenes.errors import RunError


def read_picture(folder: RunFolder, name: str, size: tuple[int, int] | None = None) -> tuple[Bytes, Bytes]:
    """Pixels (H, W, 3) and mask (H, W) of a kept picture; RunError where it is missing or damaged.

    `size` is its width and height, the run's own if not given.
    """
    path = folder.picture_path(name)
    try:
        pixels, mask = _read(folder, f"{name}.png"), _read(folder, f"{name}.mask.png")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise RunError(
            f"picture {path} or its mask is missing or damaged ({error}); delete {folder.path}/explanations and "
            "confirmations, and make them again"
        ) from error
    width, height = size or folder.manifest.facts.size
    if (pixels.shape, mask.shape) != ((height, width, 3), (height, width)) or not _are_bytes(pixels, mask):
        raise RunError(
            f"picture {path} is {pixels.shape} with a mask {mask.shape}, it should be {(height, width, 3)}; "
            "it has been changed"
        )
    return pixels, mask


def _are_bytes(*arrays: Bytes) -> bool:
    return all(array.dtype == np.uint8 for array in arrays)


def _read(folder: RunFolder, file: str) -> Bytes:
    with Image.open(folder.picture_path("x").with_name(file)) as image:
        found: Bytes = np.asarray(image)
        return found
