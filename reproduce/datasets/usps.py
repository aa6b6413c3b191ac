"""The domain `usps`: handwritten digits of envelopes, 16x16 (Hull 1994), for users who have the text files.

They are `zip.train` and `zip.test` of https://hastie.su.domains/ElemStatLearn, packed by gzip or not: a line a
picture, its digit and 256 values from -1, the ground, to 1, row by row. Their terms are unknown, so nothing of them
is shipped.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from trex.foundation.errors import InputError, unknown
from trex.mnist_models.pictures import SIDE_PX, SPLITS, DataSet, data_hash
from trex.mnist_models.published import DATA_VARIABLE, named_folder, unpacked

NAME = "usps"
USPS_PX = 16
COLUMNS = 1 + USPS_PX**2
FIX = f"name the folder of USPS's text files with --data or {DATA_VARIABLE}"


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
    return DataSet(NAME, split, images, labels, tuple("0123456789"), data_hash(images, labels))


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
