"""The input of a baseline: pictures and what is known about them, from any source."""

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
