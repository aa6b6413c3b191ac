"""The domain `optdigits`: handwritten digits of 8x8 pixels that come with scikit-learn.

They are the test half of UCI's "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998, CC BY 4.0;
doi:10.24432/C50P49): 1,797 pictures with values 0 to 16. They are not USPS.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from trex.foundation.errors import unknown
from trex.mnist_models.pictures import SIDE_PX, SPLITS, Bytes, DataSet, data_hash

NAME = "optdigits"
LARGEST = 16.0
TEST_SHARE = 3  # every third picture is of the test split
INNER_PX = 20  # the digit's box, as in MNIST


def optdigits(split: str) -> DataSet:
    """1,198 pictures of "train" or 599 of "test", enlarged to 20x20 and framed to 28x28; the same on every call."""
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    from sklearn.datasets import load_digits

    found = load_digits()
    is_test = np.arange(len(found.target)) % TEST_SHARE == 0
    rows = np.flatnonzero(is_test == (split == "test"))
    images = np.stack([_enlarged(picture) for picture in found.images[rows]])
    labels = found.target[rows].astype(np.uint8)
    return DataSet(NAME, split, images, labels, tuple("0123456789"), data_hash(images, labels))


def _enlarged(picture: NDArray[np.float64]) -> Bytes:
    """(8, 8) of 0 to 16 as bytes (28, 28)."""
    small = Image.fromarray(np.rint(255.0 * picture / LARGEST).astype(np.uint8))
    inner = np.asarray(small.resize((INNER_PX, INNER_PX), Image.Resampling.BILINEAR))
    return np.pad(inner, (SIDE_PX - INNER_PX) // 2)
