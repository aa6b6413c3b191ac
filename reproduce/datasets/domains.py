"""Data sets of digits by name, as source or target domain."""

from __future__ import annotations

from pathlib import Path

from reproduce.datasets import optdigits, svhn, typeset, usps
from trex.foundation.errors import unknown
from trex.mnist_models.datasets import load_data
from trex.mnist_models.pictures import DataSet

DOMAINS = ("mnist", typeset.NAME, optdigits.NAME, svhn.NAME, usps.NAME)


def load_domain(name: str, split: str, folder: Path | None = None) -> DataSet:
    """A split ("train" or "test") of a domain: pictures (N, 28, 28) in bytes, ten classes.

    `folder` holds MNIST's, SVHN's or USPS's files; `typeset` is made, `optdigits` comes with scikit-learn.
    InputError for an unknown name and for any fault in the files.
    """
    if name == "mnist":
        return load_data(name, split, folder)
    if name == typeset.NAME:
        return typeset.typeset(split)
    if name == optdigits.NAME:
        return optdigits.optdigits(split)
    if name == svhn.NAME:
        return svhn.svhn(split, folder)
    if name == usps.NAME:
        return usps.usps(split, folder)
    raise unknown("domain", name, DOMAINS)
