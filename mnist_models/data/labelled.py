"""Labeled pictures as every reader gives them, and the reader of MNIST's and Fashion-MNIST's published files."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.artifacts.cache import cache_root
from trex.artifacts.download import download
from trex.foundation.errors import InputError
from trex.mnist_models.data.datasets import File, Source, published_as, source
from trex.mnist_models.data.idx import Bytes, read_idx
from trex.mnist_models.data.layout import Shape

SIDE_PX = 28
DATA_VARIABLE = "TREX_DIGITS"


@dataclass(frozen=True, eq=False)
class DataSet:
    """One split: images (N, H, W) in gray or (N, H, W, 3), labels (N,) that index `names`, and the content's sha256.

    `groups` (N,): pictures of one number belong together (`tracks`); None if each stands by itself.
    """

    name: str
    split: str
    images: Bytes
    labels: Bytes
    names: tuple[str, ...]
    sha256: str
    groups: NDArray[np.int64] | None = None

    @property
    def picture(self) -> Shape:
        """Height, width and channels of its pictures."""
        height, width, *channels = self.images.shape[1:]
        return height, width, channels[0] if channels else 1

    def at(self, rows: NDArray[np.int64]) -> DataSet:
        """Some of its pictures; the hash stays that of the whole split."""
        groups = None if self.groups is None else self.groups[rows]
        return replace(self, images=self.images[rows], labels=self.labels[rows], groups=groups)


def load_idx(name: str, split: str, folder: Path | None = None) -> DataSet:
    """A split ("train" or "test") of a data set that is published in the idx format ("mnist" or "fashion").

    Read from `folder`, else from the folder that $TREX_DIGITS names, else from the user's cache, which is filled
    from the published address and checked by sha256. The files are the published idx files, compressed or not, in
    the folder, in its `raw`, or in `MNIST/raw` and `FashionMNIST/raw`. InputError describes any fault in them, and
    names the other data set if it is that one's.
    """
    published = source(name)
    place = folder or named_folder()
    files = published.files[split]
    paths = _fetched(published, files) if place is None else _found(place, published, files)
    images, labels = read_idx(paths[0], 3), read_idx(paths[1], 1)
    _check(images, labels, paths, len(published.labels))
    content = data_hash(images, labels)
    if published_as(split, content) not in (None, name):
        raise InputError(
            f"{paths[0]} and {paths[1].name} are {published_as(split, content)}'s, not {name}'s; both data sets use "
            f"the same file names, so give the folder of {name}, or the one that contains both"
        )
    return DataSet(name, split, images, labels, published.labels, content)


def data_hash(images: Bytes, labels: Bytes) -> str:
    """sha256 of shape, pixels and labels; the same for compressed and uncompressed files."""
    digest = hashlib.sha256(repr(images.shape).encode())
    digest.update(images.tobytes())
    digest.update(labels.tobytes())
    return digest.hexdigest()


def named_folder() -> Path | None:
    """The folder that $TREX_DIGITS names."""
    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else None


def _found(folder: Path, published: Source, files: tuple[File, File]) -> tuple[Path, Path]:
    if not folder.is_dir():
        raise InputError(
            f"data folder {folder} does not exist; give one with --data or {DATA_VARIABLE}, or omit both to "
            "download the data"
        )
    below = (folder / published.folder / "raw", folder / published.folder)
    places = below if any(place.is_dir() for place in below) else (folder / "raw", folder)
    return _find(folder, places, files[0]), _find(folder, places, files[1])


def _find(folder: Path, places: tuple[Path, ...], file: File) -> Path:
    names = (file.name, file.name.removesuffix(".gz"))
    candidates = [place / name for place in places for name in names]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    where = " or ".join(str(place.relative_to(folder)) for place in places)
    raise InputError(
        f"data folder {folder} has no {names[0]} or {names[1]} in {where}; give the right folder"
    )


def _fetched(published: Source, files: tuple[File, File]) -> tuple[Path, Path]:
    cache = cache_root() / "digits" / "data" / published.folder
    return _fetch(published, files[0], cache), _fetch(published, files[1], cache)


def _fetch(published: Source, file: File, cache: Path) -> Path:
    path = cache / file.name
    if not path.is_file():
        url = f"{published.url}/{file.name}"
        by_hand = f"download {url} elsewhere and give its folder with --data or {DATA_VARIABLE}"
        download(url, path, by_hand, sha256=file.sha256)
    return path


def _check(images: Bytes, labels: Bytes, paths: tuple[Path, Path], n_classes: int) -> None:
    if images.shape[1:] != (SIDE_PX, SIDE_PX):
        raise InputError(
            f"{paths[0]} holds pictures of {images.shape[1:]} pixels; they must be {SIDE_PX}x{SIDE_PX}"
        )
    if len(images) != len(labels):
        raise InputError(
            f"{paths[0]} holds {len(images)} images, {paths[1]} {len(labels)} labels; both must be of one split"
        )
    if not len(images):
        raise InputError(f"{paths[0]} has no images")
    if int(labels.max()) >= n_classes:
        raise InputError(f"{paths[1]} holds label {int(labels.max())}; labels are 0 to {n_classes - 1}")
