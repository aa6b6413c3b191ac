"""A renderer's output for one scene."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A rendered scene: sRGB pixels, the object visible at each pixel, and the scene's id."""

    pixels: Bytes  # (H, W, 3), row 0 at the top
    mask: Bytes  # (H, W), 0 background, i + 1 object i
    scene: str  # trex.scenes.scene.scene_id

    def __post_init__(self) -> None:
        """Make both arrays read-only, so that a picture may be shared."""
        assert self.pixels.dtype == np.uint8 and self.mask.dtype == np.uint8
        assert self.pixels.shape == (*self.mask.shape, 3)
        self.pixels.flags.writeable = False
        self.mask.flags.writeable = False

    def visible_pixels(self, n_objects: int) -> NDArray[np.int64]:
        """The number of pixels (n_objects,) at which each object is visible, at this picture's own size."""
        return np.bincount(self.mask.ravel(), minlength=n_objects + 1)[1 : n_objects + 1].astype(np.int64)
