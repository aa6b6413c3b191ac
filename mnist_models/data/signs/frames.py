"""What every reader of traffic signs gives: frames with their labels, tracks and boxes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SIDE_PX = 32
FIX = "get the file again"


class Frames(NamedTuple):
    """Frames of one split.

    `images` (N, 32, 32, 3) bytes, the whole frame resized; `labels` (N,) index `names.NAMES`; `track` (N,) and
    `frame` (N,), counted within a class, None for the test split; `boxes` (N, 6): width and height of the frame, and
    the sign's corners x1, y1, x2, y2 in it, in pixels of the frame as it was filmed.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    track: NDArray[np.int64] | None
    frame: NDArray[np.int64] | None
    boxes: NDArray[np.int64]
