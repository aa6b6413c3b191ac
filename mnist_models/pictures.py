"""Labelled pictures of one split: their layout, their classes, and groups of them that belong together.

Pictures are (N, H, W) in gray and (N, H, W, C) in color outside of torch, (N, C, H, W) inside. Frames of one filmed
sign are near-copies: such a group learns or judges as a whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError, unknown

Shape = tuple[int, int, int]  # height, width, channels
DIGIT: Shape = (28, 28, 1)  # of every card that gives no other
SIDE_PX = 28
SPLITS = ("train", "test")
Bytes = NDArray[np.uint8]
SHARE = 0.2  # of the tracks, held out
SEED = 1  # of the split that trainings and repairs share
P = TypeVar("P", np.uint8, np.float32)


def planes(pictures: NDArray[P]) -> NDArray[P]:
    """Pictures (N, H, W) or (N, H, W, C) as torch has them, (N, C, H, W)."""
    return pictures[:, None] if pictures.ndim == 3 else np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))


def from_planes(channels_first: NDArray[P]) -> NDArray[P]:
    """The inverse of `planes`: (N, 1, H, W) to (N, H, W), and (N, C, H, W) to (N, H, W, C)."""
    if channels_first.shape[1] == 1:
        return channels_first[:, 0]
    return np.ascontiguousarray(channels_first.transpose(0, 2, 3, 1))


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


def data_hash(images: Bytes, labels: Bytes) -> str:
    """sha256 of shape, pixels and labels; the same for compressed and uncompressed files."""
    digest = hashlib.sha256(repr(images.shape).encode())
    digest.update(images.tobytes())
    digest.update(labels.tobytes())
    return digest.hexdigest()


def chosen_classes(
    names: tuple[str, ...], only: Sequence[str] = (), without: Sequence[str] = ()
) -> tuple[int, ...]:
    """The numbers of the classes to train on, ascending, from names or numbers; InputError if none is left."""
    if only and without:
        raise InputError("name the classes to include or those to exclude, not both")
    named = {_number(names, name) for name in (only or without)}
    included = tuple(k for k in range(len(names)) if (k in named) == bool(only))
    if not included:
        raise InputError(f"all {len(names)} classes are excluded; keep at least one")
    return included


def with_classes(data: DataSet, included: tuple[int, ...]) -> DataSet:
    """Only the pictures of these classes; labels index the remaining names. The hash stays that of the whole set."""
    rows = np.flatnonzero(np.isin(data.labels, included))
    if not len(rows):
        raise InputError(f"split {data.split!r} of {data.name} has no picture of these classes: {included}")
    number = np.zeros(len(data.names), np.uint8)
    number[list(included)] = np.arange(len(included))
    names = tuple(data.names[k] for k in included)
    return replace(data.at(rows), labels=number[data.labels[rows]], names=names)


def _number(names: tuple[str, ...], name: str) -> int:
    if name in names:
        return names.index(name)
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    raise unknown("class", name, names)


class Split(NamedTuple):
    """Rows (n,), ascending, to learn from, and those that are held out."""

    learning: NDArray[np.int64]
    held_out: NDArray[np.int64]


def split_tracks(data: DataSet, seed: int = SEED) -> Split:
    """A fifth of the groups held out, at random by seed; nothing if the data set has no groups."""
    if data.groups is None:
        return Split(np.arange(len(data.images)), np.zeros(0, np.int64))
    groups = np.random.default_rng(seed).permutation(np.unique(data.groups))
    is_held = np.isin(data.groups, groups[: round(SHARE * len(groups))])
    return Split(np.flatnonzero(~is_held), np.flatnonzero(is_held))


def some_tracks(
    data: DataSet, rows: NDArray[np.int64], most: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """At most `most` of these rows, ascending, in whole groups in random order; InputError if not even one fits."""
    assert data.groups is not None
    groups, sizes = np.unique(data.groups[rows], return_counts=True)
    order = rng.permutation(len(groups))
    taken = groups[order[np.cumsum(sizes[order]) <= most]]
    if not len(taken):
        raise InputError(f"{most} pictures hold no whole track of {data.name}; take at least {sizes.max()}")
    return rows[np.isin(data.groups[rows], taken)]
