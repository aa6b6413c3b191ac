"""The input of a baseline: pictures and what is known about them, from any source.

What applies to several files or records of a data set is counted with the first of each, so that it is told once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from trex.scenes.scene import Scene


@dataclass(frozen=True, eq=False)
class Example:
    """A picture (H, W, 3) or (H, W, 1), 0-255, under a name that is unique in its source.

    The truth follows from `scene`, or is `label` itself; both are None if it is unknown. `coordinates` is None if the
    scene's own camera took the picture; else (2, N, 3), from which it can be fitted (`camera_fit`), without objects if
    nothing tells where it stood.
    """

    name: str
    split: str
    pixels: NDArray[np.uint8]
    scene: Scene | None = None
    label: str | None = None
    coordinates: NDArray[np.float64] | None = None


class Problem(NamedTuple):
    """A file that could not be used, at least in part, and the reason."""

    file: str
    what: str


class Examples(Protocol):
    """A source of examples: a data folder, rendered scenes, a test set of digits."""

    @property
    def words(self) -> str:
        """A description of the source."""
        ...

    @property
    def total(self) -> int:
        """The largest possible number of examples."""
        ...

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The files left out so far; complete after the last example."""
        ...

    def __iter__(self) -> Iterator[Example]:
        """Yield one example at a time: a test set need not fit into memory."""
        ...


class Remark(NamedTuple):
    """What is told after a number: "picture has ..." of one, "pictures have ..." of several."""

    one: str
    many: str


def loss_remark(loss: str) -> Remark:
    """What is told of pictures with this loss (`trex.foundation.images`)."""
    return Remark(f"picture has {loss}", f"pictures have {loss}")


class Tally:
    """How often each remark applies, and where first."""

    def __init__(self) -> None:
        self._first: dict[Remark, str] = {}
        self._counts: dict[Remark, int] = {}

    def add(self, remark: Remark, where: str) -> None:
        """Count a remark about this file or record."""
        self._first.setdefault(remark, where)
        self._counts[remark] = self._counts.get(remark, 0) + 1

    def count(self, *remarks: Remark) -> int:
        """How often these apply."""
        return sum(self._counts.get(remark, 0) for remark in remarks)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """A problem for each remark, at the first file or record."""
        return tuple(
            Problem(self._first[remark], _sentence(remark, number)) for remark, number in self._counts.items()
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """A sentence for each remark: "12 questions have ...; the first: FILE: question 3"."""
        return tuple(
            f"{_sentence(remark, number)}; the first: {self._first[remark]}"
            for remark, number in self._counts.items()
        )


def _sentence(remark: Remark, number: int) -> str:
    return f"{number:,} {remark.one if number == 1 else remark.many}"
