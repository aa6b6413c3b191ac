"""Street View House Numbers, cropped digits in color (Netzer et al. 2011), for users who have the files.

Its terms are non-commercial, so neither pictures nor weights of it are part of this repository. The files are
`train_32x32.mat` and `test_32x32.mat` of http://ufldl.stanford.edu/housenumbers, MATLAB's format 5:
X (32, 32, 3, N) bytes, the last axis the picture, and y (N, 1), in which 10 is the digit 0. The domain `svhn` of an
adaptation is the same in gray, in MNIST's size.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reproduce.datasets.mat_file import read_mat
from trex.foundation.errors import InputError, unknown
from trex.mnist_models.datasets import Described
from trex.mnist_models.pictures import SIDE_PX as DIGIT_PX
from trex.mnist_models.pictures import SPLITS, Bytes, DataSet, data_hash
from trex.mnist_models.published import DATA_VARIABLE, named_folder

NAME = "svhn"
SIDE_PX = 32
MAX_PICTURES = 600_000  # the largest of its files, `extra`, has 531,131
ZERO = 10  # its label of the digit 0
FIX = f"name the folder of SVHN's cropped digits with --data or {DATA_VARIABLE}"


def load_svhn(split: str, folder: Path | None = None) -> DataSet:
    """A split in color, (N, 32, 32, 3); InputError for any fault in the file."""
    path = _found(split, folder)
    arrays = read_mat(path, ("X", "y"), limit=MAX_PICTURES * (SIDE_PX**2 * 3 + 8))
    pictures, labels = _checked(path, arrays["X"], arrays["y"])
    images = np.ascontiguousarray(pictures.transpose(3, 0, 1, 2))
    return DataSet(NAME, split, images, labels, tuple("0123456789"), data_hash(images, labels))


def _found(split: str, folder: Path | None) -> Path:
    folder = folder or named_folder()
    if folder is None:
        raise InputError(f"SVHN is neither shipped nor fetched (its terms are non-commercial); {FIX}")
    name = f"{split}_32x32.mat"
    for place in (folder, folder / "SVHN", folder / "svhn"):
        if (place / name).is_file():
            return place / name
    raise InputError(f"{folder} has no {name}, nor a folder SVHN with it; {FIX}")


def _checked(path: Path, pictures: NDArray[np.generic], labels: NDArray[np.generic]) -> tuple[Bytes, Bytes]:
    """X as it is and the digits (N,); InputError unless both are of SVHN's form."""
    n = pictures.shape[-1] if pictures.ndim else 0
    if pictures.dtype != np.uint8 or pictures.shape != (SIDE_PX, SIDE_PX, 3, n) or not n:
        raise InputError(
            f"{path}: X is {pictures.dtype} {pictures.shape}; it must be uint8 (32, 32, 3, N); {FIX}"
        )
    if labels.dtype.kind not in "uif" or labels.shape != (n, 1):
        raise InputError(f"{path}: y is {labels.dtype} {labels.shape}; it must hold numbers, ({n}, 1); {FIX}")
    given = labels[:, 0].astype(np.float64)
    strange = given[~np.isin(given, np.arange(1, ZERO + 1))]
    if len(strange):
        raise InputError(
            f"{path}: y holds label {strange[0]:g}; labels are 1 to 10, 10 for the digit 0; {FIX}"
        )
    return pictures.astype(np.uint8, copy=False), (given % ZERO).astype(np.uint8)


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
    import torch
    from torch.nn import functional

    weights = np.array(GRAY, np.float32)
    gray = (pictures.astype(np.float32) * weights).sum(axis=3)  # (n, 32, 32), 0 to 255
    sized = functional.interpolate(
        torch.from_numpy(np.ascontiguousarray(gray))[:, None], (DIGIT_PX, DIGIT_PX), mode="bilinear"
    )
    rounded: Bytes = np.rint(np.clip(sized[:, 0].numpy(), 0.0, 255.0)).astype(np.uint8)
    return rounded


SVHN = Described(
    question="Which digit is it?",
    things="house numbers",
    labels=tuple("0123456789"),
    picture=(SIDE_PX, SIDE_PX, 3),
    licence="the terms of the pictures: not commercial",
    read=load_svhn,
)
