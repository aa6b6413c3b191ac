"""Any data set of this world by its name."""

from __future__ import annotations

from pathlib import Path

from trex.foundation.errors import unknown
from trex.mnist_models.data.datasets import DATASETS, SOURCES, SPLITS
from trex.mnist_models.data.labelled import DataSet, load_idx
from trex.mnist_models.data.signs.load import load_signs
from trex.mnist_models.data.svhn import load_svhn

READERS = {"signs": load_signs, "svhn": load_svhn}


def load_data(name: str, split: str, folder: Path | None = None) -> DataSet:
    """A split ("train" or "test") of a data set (`datasets.DATASETS`).

    Read from `folder`, else from the folder that $TREX_DIGITS names; MNIST and Fashion-MNIST else from the user's
    cache, which is filled from their published address. InputError describes any fault in the files.
    """
    if name not in DATASETS:
        raise unknown("data set", name, DATASETS)
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    return load_idx(name, split, folder) if name in SOURCES else READERS[name](split, folder)
