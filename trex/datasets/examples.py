"""What a baseline looks at: pictures with what is known of them, from wherever they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from trex.scenes.scene import Scene


@dataclass(frozen=True, eq=False)
class Example:
    """A picture (H, W, 3) or (H, W, 1), 0-255, under a name that no other of its source has.

    What is true of it follows from `scene`, or is `label` itself; both None where nobody knows.
    """

    name: str
    split: str
    pixels: NDArray[np.uint8]
    scene: Scene | None = None
    label: str | None = None


class Problem(NamedTuple):
    """A file that could not be used, or not fully, and why."""

    file: str
    what: str


class Examples(Protocol):
    """A source of examples: a data folder, rendered scenes, a test set of digits."""

    @property
    def words(self) -> str:
        """Where the pictures come from, for people."""
        ...

    @property
    def total(self) -> int:
        """How many there are at most."""
        ...

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was left out so far; complete after the last example."""
        ...

    def __iter__(self) -> Iterator[Example]:
        """One at a time: a test set need not fit into memory."""
        ...
