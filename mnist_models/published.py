"""MNIST and Fashion-MNIST as published: files in the idx format (http://yann.lecun.com/exdb/mnist), gzipped or not."""

from __future__ import annotations

import gzip
import io
import math
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trex.artifacts.cache import cache_root
from trex.artifacts.download import download
from trex.foundation.errors import InputError, unknown
from trex.foundation.files import read_bytes
from trex.mnist_models.pictures import SIDE_PX, Bytes, DataSet, data_hash

DATA_VARIABLE = "TREX_DIGITS"


class File(NamedTuple):
    """One published file: its name and its sha256, compressed."""

    name: str
    sha256: str


class Source(NamedTuple):
    """A data set: its usual folder, its address, its classes, and (images, labels) of each split.

    `contents` is what `data_hash` gives for the published files of each split, compressed or not.
    """

    folder: str
    url: str
    labels: tuple[str, ...]
    files: Mapping[str, tuple[File, File]]
    contents: Mapping[str, str]


def _files(
    train_images: str, train_labels: str, test_images: str, test_labels: str
) -> dict[str, tuple[File, File]]:
    """The files of each split by these sha256; both data sets use the same file names."""
    return {
        "train": (
            File("train-images-idx3-ubyte.gz", train_images),
            File("train-labels-idx1-ubyte.gz", train_labels),
        ),
        "test": (
            File("t10k-images-idx3-ubyte.gz", test_images),
            File("t10k-labels-idx1-ubyte.gz", test_labels),
        ),
    }


SOURCES: Mapping[str, Source] = {
    "mnist": Source(
        folder="MNIST",
        # a mirror of the original files that torchvision uses: yann.lecun.com itself answers 403
        url="https://ossci-datasets.s3.amazonaws.com/mnist",
        labels=("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
        files=_files(
            "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        ),
        contents={
            "train": "251afd29f3c6f204bed9fbe0c5c03f896b5e76daf429154e931f2447cdcca89d",
            "test": "26120b4578752d7d87c2cb6601f15f4b0efd4dd7947b156b4f7aa2d35f931d2f",
        },
    ),
    "fashion": Source(
        folder="FashionMNIST",
        url="http://fashion-mnist.s3-website.eu-central-1.amazonaws.com",  # the owner gives no https address
        # as in the paper's tables; Zalando's names of the first and last are T-shirt/top and Ankle boot
        labels=(
            "T-shirt",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Boot",
        ),
        files=_files(
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        ),
        contents={
            "train": "d0aa9129c294bdec27e4752ae9cde8aefb740edaee9033747b9b480715cd972c",
            "test": "b1bf94e2a44c923cebadb1d454111a73e5d6eb5dd7c23459308c93f2bbeccee9",
        },
    ),
}


def published_as(split: str, content: str) -> str | None:
    """The data set whose published split has this content (`Source.contents`); None if it is of none."""
    return next((name for name, known in SOURCES.items() if known.contents[split] == content), None)


def source(name: str) -> Source:
    """The data set in the idx format of this name; InputError lists the existing ones."""
    if name not in SOURCES:
        raise unknown("data set", name, SOURCES)
    return SOURCES[name]


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


def named_folder() -> Path | None:
    """The folder that $TREX_DIGITS names."""
    named = os.environ.get(DATA_VARIABLE)
    return Path(named) if named else None


def _found(folder: Path, published: Source, files: tuple[File, File]) -> tuple[Path, Path]:
    if not folder.is_dir():
        fix = (
            f"set {DATA_VARIABLE} to one that holds the published files, or unset it to download them"
            if folder == named_folder()
            else "give one that holds the published files"
        )
        raise InputError(f"data folder {folder} does not exist; {fix}")
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
        by_hand = f"download {url} elsewhere and set {DATA_VARIABLE} to its folder"
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


GZIP = b"\x1f\x8b"
UNSIGNED_BYTES = 0x08  # the format's code of its element type
LARGEST_BYTES = 1 << 28  # the largest file of the two data sets unpacks to 47 MB
FIX = "get the file again"


def read_idx(path: Path, dimensions: int) -> Bytes:
    """The array of an idx file of unsigned bytes; InputError if it is missing, cut, too long or another format."""
    data = unpacked(path)
    if len(data) < 4 or data[:2] != b"\0\0" or data[3] == 0:
        raise InputError(f"{path} is not an idx file (it begins with {data[:4].hex() or 'nothing'}); {FIX}")
    if data[2] != UNSIGNED_BYTES:
        raise InputError(
            f"{path} has elements of type {data[2]:#04x}; only unsigned bytes (0x08) are supported"
        )
    if data[3] != dimensions:
        raise InputError(
            f"{path} has {data[3]} dimensions instead of {dimensions}; images (3) and labels (1) may be swapped"
        )
    start = 4 + 4 * dimensions
    if len(data) < start:
        raise InputError(f"{path} is truncated: it ends within its header; {FIX}")
    sizes = struct.unpack(f">{dimensions}I", data[4:start])
    expected, found = math.prod(sizes), len(data) - start
    if found != expected:
        what = "truncated" if found < expected else "too long"
        raise InputError(f"{path} is {what}: its header announces {expected} bytes, {found} follow; {FIX}")
    return np.frombuffer(data, np.uint8, offset=start).reshape(sizes)


def unpacked(path: Path) -> bytes:
    """The bytes of a file, unpacked if gzip packed them; InputError for a damaged one and beyond 256 MiB."""
    packed = read_bytes(path, limit=LARGEST_BYTES)
    if packed[:2] != GZIP:
        return packed
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
            data = stream.read(LARGEST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is truncated or damaged ({error}); {FIX}") from error
    if len(data) > LARGEST_BYTES:
        raise InputError(
            f"{path} unpacks to more than {LARGEST_BYTES >> 20} MiB, too many for this data set; {FIX}"
        )
    return data
