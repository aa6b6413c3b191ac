"""Data sets of digits by name, as source or target domain."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reproduce.datasets import optdigits, svhn, typeset, usps
from trex.foundation.errors import unknown
from trex.mnist_models.datasets import load_data
from trex.mnist_models.pictures import DataSet

DOMAINS: dict[str, Callable[[str, Path | None], DataSet]] = {  # a split, from a folder or the usual place
    "mnist": lambda split, folder: load_data("mnist", split, folder),
    typeset.NAME: lambda split, _: typeset.typeset(split),
    optdigits.NAME: lambda split, _: optdigits.optdigits(split),
    svhn.NAME: svhn.svhn,
    usps.NAME: usps.usps,
}


def load_domain(name: str, split: str, folder: Path | None = None) -> DataSet:
    """A split ("train" or "test") of a domain: pictures (N, 28, 28) in bytes, ten classes.

    `folder` holds MNIST's, SVHN's or USPS's files; `typeset` is made, `optdigits` comes with scikit-learn.
    InputError for an unknown name and for any fault in the files.
    """
    if name not in DOMAINS:
        raise unknown("domain", name, DOMAINS)
    return DOMAINS[name](split, folder)
