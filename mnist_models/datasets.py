"""The data sets whose pictures models of this world learn from and are asked about."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from trex.foundation.errors import unknown
from trex.mnist_models.pictures import DIGIT, SPLITS, DataSet, Shape
from trex.mnist_models.published import SOURCES, load_idx

ELSEWHERE = "In a checkout, `python -m reproduce trex` also has signs and svhn."


class Described(NamedTuple):
    """A data set: what its pictures show, how they are read, and the licence of weights trained on it.

    `read` gives a split ("train" or "test") from a folder, None the usual place; `picture` is height, width and
    channels. `groups`: titles of classes that people label together, with the classes.
    """

    question: str
    things: str
    labels: tuple[str, ...]
    picture: Shape
    licence: str
    read: Callable[[str, Path | None], DataSet]
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()


def _published(name: str, question: str, things: str) -> Described:
    return Described(question, things, SOURCES[name].labels, DIGIT, "Apache-2.0", partial(load_idx, name))


DATASETS: dict[str, Described] = {  # a program may add its own before it imports trex.worlds
    "mnist": _published("mnist", "Which digit is it?", "digits"),
    "fashion": _published("fashion", "Which garment is it?", "garments"),
}


def described(name: str) -> Described:
    """The data set of this name; InputError lists those that there are."""
    if name not in DATASETS:
        raise unknown("data set", name, DATASETS, ELSEWHERE)
    return DATASETS[name]


def load_data(name: str, split: str, folder: Path | None = None) -> DataSet:
    """A split ("train" or "test") of a data set.

    Read from `folder`, else from the folder that $TREX_DIGITS names; MNIST and Fashion-MNIST else from the user's
    cache, which is filled from their published address. InputError describes any fault in the files.
    """
    found = described(name)
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    return found.read(split, folder)
