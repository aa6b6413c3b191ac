"""Counts what applies to several files or records of a data set, and keeps the first of each, so it is told once."""

from __future__ import annotations

from typing import NamedTuple

from trex.datasets.examples import Problem


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
