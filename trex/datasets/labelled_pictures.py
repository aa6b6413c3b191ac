"""The labelled pictures of digits, garments or signs as examples of a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from trex.datasets.examples import Example, Problem
from trex.mnist_models.datasets import load_data
from trex.mnist_models.pictures import DataSet

SPLIT = "test"  # the default: models were trained on the others


@dataclass(frozen=True)
class LabelledPictures:
    """Splits of a data set in a folder (`trex.mnist_models.datasets.load_data`); damaged files are errors."""

    dataset: str
    folder: Path
    splits: tuple[str, ...]

    @property
    def words(self) -> str:
        """The number of pictures and their splits, in words."""
        counts = ", ".join(f"{len(data.images)} of {data.split}" for data in self._data)
        return f"{self.dataset}: {counts}"

    @property
    def total(self) -> int:
        """The number of pictures."""
        return sum(len(data.images) for data in self._data)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Always empty: each file is read whole or raises an error."""
        return ()

    def __iter__(self) -> Iterator[Example]:
        """Yield the pictures in file order."""
        for data in self._data:
            for number, (image, label) in enumerate(zip(data.images, data.labels, strict=True)):
                name = f"{data.name}_{data.split}_{number:05d}"
                yield Example(name, data.split, image.reshape(data.picture), label=data.names[int(label)])

    @cached_property
    def _data(self) -> Sequence[DataSet]:
        return [load_data(self.dataset, split, self.folder) for split in self.splits or (SPLIT,)]
