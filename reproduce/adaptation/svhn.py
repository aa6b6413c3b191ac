"""The domain `svhn`: Street View House Numbers (`trex.mnist_models.data.svhn`) in gray, in MNIST's size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from trex.foundation.errors import unknown
from trex.mnist_models.data.datasets import SPLITS
from trex.mnist_models.data.idx import Bytes
from trex.mnist_models.data.labelled import SIDE_PX, DataSet, data_hash
from trex.mnist_models.data.svhn import NAME as NAME
from trex.mnist_models.data.svhn import load_svhn

GRAY = (0.2989, 0.587, 0.114)  # of red, green and blue, as in ADDA's code
BLOCK = 4096


def svhn(split: str, folder: Path | None = None) -> DataSet:
    """A split in gray, (N, 28, 28): sized bilinearly and rounded to bytes; InputError for any fault in the file."""
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    data = load_svhn(split, folder)
    parts = [_gray(data.images[k : k + BLOCK]) for k in range(0, len(data.labels), BLOCK)]
    images = np.concatenate(parts)
    return replace(data, images=images, sha256=data_hash(images, data.labels))


def _gray(pictures: Bytes) -> Bytes:
    """(n, 32, 32, 3) in color to (n, 28, 28) in gray."""
    weights = np.array(GRAY, np.float32)
    gray = (pictures.astype(np.float32) * weights).sum(axis=3)  # (n, 32, 32), 0 to 255
    sized = functional.interpolate(
        torch.from_numpy(np.ascontiguousarray(gray))[:, None], (SIDE_PX, SIDE_PX), mode="bilinear"
    )
    rounded: Bytes = np.rint(np.clip(sized[:, 0].numpy(), 0.0, 255.0)).astype(np.uint8)
    return rounded
