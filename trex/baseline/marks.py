"""What people found of a baseline's mistakes: a wrong label, a real mistake of the model, or neither for sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from trex.foundation.words import counted

Mark = Literal["mislabelled", "mistake", "unclear"]
MARKS: tuple[Mark, ...] = get_args(Mark)


@dataclass(frozen=True)
class MarkCounts:
    """How many mistakes have each mark, and how many have none."""

    mislabelled: int
    mistake: int
    unclear: int
    unmarked: int

    @property
    def is_any(self) -> bool:
        """Whether anybody has marked a mistake."""
        return self.mislabelled + self.mistake + self.unclear > 0

    @property
    def words(self) -> str:
        """The counts in words."""
        return (
            f"{self.mislabelled} with a wrong label, {counted(self.mistake, 'real mistake')}, "
            f"{self.unclear} that nobody can tell, {self.unmarked} not marked"
        )


def count_marks(marks: Sequence[Mark | None]) -> MarkCounts:
    """The counts of the marks of mistakes, None for unmarked ones."""
    found = Counter(marks)
    return MarkCounts(found["mislabelled"], found["mistake"], found["unclear"], found[None])


def consensus(given: Sequence[str]) -> Mark | None:
    """The mark that more than half of the annotators give, "unclear" if none is; None if nobody gives one."""
    for mark in MARKS:
        if 2 * given.count(mark) > len(given):
            return mark
    return "unclear" if given else None
