"""Mistakes grown from pictures, and their file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trex.repair.arrays import Array, Flags, Floats, Ints, flags, floats, ints, read_arrays, write_arrays


@dataclass(frozen=True, eq=False)
class Mistakes:
    """n mistakes: codes (n, d), rows of their pictures in the split, labels, the model's answers.

    `plain_wrong`: whether the model is already wrong on the plain reconstruction of the picture.
    """

    codes: Floats
    rows: Ints
    labels: Ints
    answers: Ints
    plain_wrong: Flags

    def at(self, kept: Ints | Flags) -> Mistakes:
        """The mistakes at these positions, or under this mask."""
        return Mistakes(
            self.codes[kept], self.rows[kept], self.labels[kept], self.answers[kept], self.plain_wrong[kept]
        )


def read_mistakes(path: Path) -> Mistakes:
    """The mistakes in a file."""
    return mistakes_in(read_arrays(path))


def mistakes_in(found: Mapping[str, Array]) -> Mistakes:
    """The mistakes in arrays by name."""
    return Mistakes(
        floats(found["codes"]),
        ints(found["rows"]),
        ints(found["labels"]),
        ints(found["answers"]),
        flags(found["plain_wrong"]),
    )


def write_mistakes(path: Path, found: Mistakes) -> None:
    """Write mistakes atomically."""
    write_arrays(
        path,
        {
            "codes": found.codes,
            "rows": found.rows,
            "labels": found.labels,
            "answers": found.answers,
            "plain_wrong": found.plain_wrong,
        },
    )
