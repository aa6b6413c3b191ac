"""The smallest set of changes that flips a classifier's answer, or sets it right, breadth first within a budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, Protocol, TypeVar


class Change(Protocol):
    """One or several edits made together, and their effect on the answer."""

    @property
    def margin(self) -> float:
        """How far from a flip, in log odds: of the answer before the change, say, over the best other one."""
        ...

    @property
    def is_flip(self) -> bool:
        """Whether the answer differs, or whatever else is searched for."""
        ...


C = TypeVar("C", bound=Change)


@dataclass(frozen=True)
class FlipLimits:
    """The search's limits: `depth` edits together, `renders` sets of two or more edits, `batch` scored at once."""

    depth: int = 2
    renders: int = 40
    batch: int = 8


@dataclass(frozen=True)
class Flips(Generic[C]):
    """The flips of the smallest size that has any, strongest first.

    All single edits are tried. At larger sizes the search ends with the first batch that has a flip, so it may miss
    some of that size; it is certain that no smaller size has one. If none was found, `is_exhaustive` says whether
    that is certain up to the depth, or the budget ran out: `tried` of `possible` sets of up to `size` edits; larger
    ones were not begun.
    """

    found: tuple[C, ...]
    tried: int
    possible: int
    size: int
    is_exhaustive: bool


def smallest_flips(
    base: float,
    singles: Sequence[C],
    is_possible: Callable[[tuple[C, ...]], bool],
    score: Callable[[Sequence[tuple[C, ...]]], Sequence[C]],
    limits: FlipLimits,
) -> Flips[C]:
    """Search breadth first: the given single edits, then sets of them made together, most promising first.

    `base` is the margin before any edit. A set is the more promising, the lower the sum of its edits' effects on
    the margin: the set's effect if log odds were additive. `score` scores sets, each as one change.
    """
    tried = possible = len(singles)
    flips = [single for single in singles if single.is_flip]
    left, size = limits.renders, 1
    while not flips and size < limits.depth and tried == possible:
        size += 1
        sets = _by_promise(base, singles, size, is_possible)
        possible += len(sets)
        flips, spent = _first_flips(sets[:left], score, limits.batch)
        left, tried = left - spent, tried + spent
    strongest = sorted(flips, key=lambda change: change.margin)
    return Flips(tuple(strongest), tried, possible, size, bool(flips) or tried == possible)


def _by_promise(
    base: float, singles: Sequence[C], size: int, is_possible: Callable[[tuple[C, ...]], bool]
) -> list[tuple[C, ...]]:
    sets = filter(is_possible, combinations(singles, size))
    return sorted(sets, key=lambda changes: sum(change.margin - base for change in changes))


def _first_flips(
    sets: Sequence[tuple[C, ...]], score: Callable[[Sequence[tuple[C, ...]]], Sequence[C]], batch: int
) -> tuple[list[C], int]:
    """The flips of the first batch that has any, and the number of sets scored."""
    spent = 0
    for start in range(0, len(sets), batch):
        changes = score(sets[start : start + batch])
        spent += len(changes)
        flips = [change for change in changes if change.is_flip]
        if flips:
            return flips, spent
    return [], spent
