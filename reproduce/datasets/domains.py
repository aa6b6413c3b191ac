"""Data sets of digits by name, as source or target domain.

`optdigits` are handwritten digits of 8x8 pixels that come with scikit-learn: the test half of UCI's "Optical
Recognition of Handwritten Digits" (Alpaydin and Kaynak 1998, CC BY 4.0; doi:10.24432/C50P49), 1,797 pictures with
values 0 to 16. They are not USPS.

`usps` are handwritten digits of envelopes, 16x16 (Hull 1994), for users who have the text files: `zip.train` and
`zip.test` of https://hastie.su.domains/ElemStatLearn, packed by gzip or not: a line a picture, its digit and 256 values
from -1, the ground, to 1, row by row. Their terms are unknown, so nothing of them is shipped.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch.nn import functional

from reproduce.datasets import svhn, typeset
from trex.foundation.errors import InputError, unknown
from trex.mnist_models.datasets import load_data
from trex.mnist_models.pictures import SIDE_PX, SPLITS, Bytes, DataSet, data_hash
from trex.mnist_models.published import DATA_VARIABLE, named_folder, unpacked

LARGEST = 16.0
TEST_SHARE = 3  # every third picture is of the test split
INNER_PX = 20  # the digit's box, as in MNIST
USPS_PX = 16
COLUMNS = 1 + USPS_PX**2
FIX = f"name the folder of USPS's text files with --data or {DATA_VARIABLE}"


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
    return DataSet("optdigits", split, images, labels, tuple("0123456789"), data_hash(images, labels))


def _enlarged(picture: NDArray[np.float64]) -> Bytes:
    """(8, 8) of 0 to 16 as bytes (28, 28)."""
    small = Image.fromarray(np.rint(255.0 * picture / LARGEST).astype(np.uint8))
    inner = np.asarray(small.resize((INNER_PX, INNER_PX), Image.Resampling.BILINEAR))
    return np.pad(inner, (SIDE_PX - INNER_PX) // 2)


def usps(split: str, folder: Path | None = None) -> DataSet:
    """A split (N, 28, 28), enlarged bilinearly as ADDA's authors do; InputError for any fault in the file."""
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    path = _found(split, folder or named_folder())
    rows = _rows(path)
    labels = rows[:, 0].astype(np.uint8)
    small = torch.from_numpy(((rows[:, 1:] + 1.0) * 127.5).reshape(-1, 1, USPS_PX, USPS_PX))
    sized = functional.interpolate(small, (SIDE_PX, SIDE_PX), mode="bilinear")[:, 0].numpy()
    images = np.rint(np.clip(sized, 0.0, 255.0)).astype(np.uint8)
    return DataSet("usps", split, images, labels, tuple("0123456789"), data_hash(images, labels))


def _found(split: str, folder: Path | None) -> Path:
    if folder is None:
        raise InputError(f"USPS is neither shipped nor fetched; {FIX}")
    names = (f"zip.{split}", f"zip.{split}.gz")
    for place in (folder, folder / "USPS", folder / "usps"):
        for name in names:
            if (place / name).is_file():
                return place / name
    raise InputError(f"{folder} has no {' or '.join(names)}, nor a folder USPS with it; {FIX}")


def _rows(path: Path) -> NDArray[np.float32]:
    """(N, 257): digit and values; InputError unless every line has both, within their ranges."""
    try:
        rows = np.loadtxt(io.BytesIO(unpacked(path)), dtype=np.float32, ndmin=2, encoding="ascii")
    except ValueError as error:
        raise InputError(f"{path} holds something other than rows of numbers ({error}); {FIX}") from error
    if not len(rows) or rows.shape[1] != COLUMNS:
        raise InputError(f"{path} is a table {rows.shape}; each line must have a digit and 256 values; {FIX}")
    if not np.isin(rows[:, 0], np.arange(10)).all():
        raise InputError(f"{path} holds a label that is no digit; {FIX}")
    if not (np.abs(rows[:, 1:]) <= 1.0).all():
        raise InputError(f"{path} holds values outside of -1 to 1; {FIX}")
    return rows


DOMAINS: dict[str, Callable[[str, Path | None], DataSet]] = {  # a split, from a folder or the usual place
    "mnist": lambda split, folder: load_data("mnist", split, folder),
    typeset.NAME: lambda split, _: typeset.typeset(split),
    "optdigits": lambda split, _: optdigits(split),
    svhn.NAME: svhn.svhn,
    "usps": usps,
}


def load_domain(name: str, split: str, folder: Path | None = None) -> DataSet:
    """A split ("train" or "test") of a domain: pictures (N, 28, 28) in bytes, ten classes.

    `folder` holds MNIST's, SVHN's or USPS's files; `typeset` is made, `optdigits` comes with scikit-learn.
    InputError for an unknown name and for any fault in the files.
    """
    if name not in DOMAINS:
        raise unknown("domain", name, DOMAINS)
    return DOMAINS[name](split, folder)
