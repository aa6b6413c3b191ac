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
