"""All data sets with classes and pictures; of those in the idx format, addresses of the files and their sha256."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from trex.foundation.errors import unknown
from trex.mnist_models.data.layout import DIGIT, Shape
from trex.mnist_models.data.signs.names import NAMES as SIGNS

SPLITS = ("train", "test")


class File(NamedTuple):
    """One published file: its name and its sha256, compressed."""

    name: str
    sha256: str


class Source(NamedTuple):
    """A data set: its usual folder, its address, its classes, and (images, labels) of each split.

    `contents` is what `labelled.data_hash` gives for the published files of each split, compressed or not.
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


class Described(NamedTuple):
    """The classes of a data set, its pictures' height, width and channels, and the licence of weights trained on it."""

    labels: tuple[str, ...]
    picture: Shape
    licence: str


DATASETS: Mapping[str, Described] = {
    **{name: Described(one.labels, DIGIT, "Apache-2.0") for name, one in SOURCES.items()},
    "signs": Described(SIGNS, (32, 32, 3), "unsettled: the terms of the pictures, research use"),
    "svhn": Described(tuple("0123456789"), (32, 32, 3), "the terms of the pictures: not commercial"),
}


def published_as(split: str, content: str) -> str | None:
    """The data set whose published split has this content (`Source.contents`); None if it is of none."""
    return next((name for name, one in SOURCES.items() if one.contents[split] == content), None)


def source(name: str) -> Source:
    """The data set in the idx format of this name; InputError lists the existing ones."""
    if name not in SOURCES:
        raise unknown("data set", name, SOURCES)
    return SOURCES[name]
