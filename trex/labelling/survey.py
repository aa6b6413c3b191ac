"""What annotators are asked, in words, which labels they may give, and the commands that go with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trex.repair.votes_file import NONE_WORD

KEYS = "0123456789abcdefghijklmopqrstvwxyz"  # of classes; n is "none", u is undo


class Choice(NamedTuple):
    """A button: the label that it gives, its words, and its key, "" for none."""

    label: str
    words: str
    key: str


@dataclass(frozen=True)
class Survey:
    """The question of a poll, its buttons, and the commands that collect and count votes."""

    question: str
    task: str  # "You see one picture at a time and " continues so
    subject: str  # "this repair"
    choices: tuple[Choice, ...]  # the last one has a line of its own
    command: str  # names no folder: the login shows it to everybody
    serve: str
    count: str

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that a vote may have."""
        return tuple(one.label for one in self.choices)


def class_choices(classes: Sequence[str]) -> tuple[Choice, ...]:
    """A button for each class, without a key beyond the last one, and one for none of them."""
    keys = [*KEYS, *[""] * len(classes)]
    each = [Choice(name, name, key) for name, key in zip(classes, keys, strict=False)]
    return (*each, Choice(NONE_WORD, "None of the above", "n"))
