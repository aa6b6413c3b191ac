"""The classes of a training: all, some, or all but some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trex.foundation.errors import InputError, unknown
from trex.mnist_models.data.labelled import DataSet


def chosen_classes(
    names: tuple[str, ...], only: Sequence[str] = (), without: Sequence[str] = ()
) -> tuple[int, ...]:
    """The numbers of the classes to train on, ascending, from names or numbers; InputError if none is left."""
    if only and without:
        raise InputError("name the classes to keep, or those to leave out, not both")
    named = {_number(names, name) for name in (only or without)}
    kept = tuple(k for k in range(len(names)) if (k in named) == bool(only))
    if not kept:
        raise InputError(f"all {len(names)} classes are left out; leave at least one in")
    return kept


def with_classes(data: DataSet, kept: tuple[int, ...]) -> DataSet:
    """Only the pictures of these classes; labels index the remaining names. The hash stays that of the whole set."""
    rows = np.flatnonzero(np.isin(data.labels, kept))
    if not len(rows):
        raise InputError(f"split {data.split!r} of {data.name} has no picture of these classes: {kept}")
    number = np.zeros(len(data.names), np.uint8)
    number[list(kept)] = np.arange(len(kept))
    names = tuple(data.names[k] for k in kept)
    return replace(data, images=data.images[rows], labels=number[data.labels[rows]], names=names)


def _number(names: tuple[str, ...], name: str) -> int:
    if name in names:
        return names.index(name)
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    raise unknown("class", name, names)
