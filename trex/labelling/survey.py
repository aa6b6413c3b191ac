"""What annotators are asked, in words, which labels they may give, and the commands that go with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from trex.mnist_models.data.signs.names import GROUPS, NAMES
from trex.repair.votes_file import NONE_WORD

KEYS = "0123456789abcdefghijklmopqrstvwxyz"  # of classes; n is "none", u is undo
LETTERS = KEYS[10:]  # of classes within a group, after the group's number


class Choice(NamedTuple):
    """A button: the label that it gives, its words, its key or two keys one after the other, "" for none, its group."""

    label: str
    words: str
    key: str
    group: str = ""


class Group(NamedTuple):
    """Buttons under a title; `key` begins the keys of each."""

    title: str
    key: str
    choices: tuple[Choice, ...]


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
    def groups(self) -> tuple[Group, ...]:
        """The groups of the choices, those of groups in their order; none if the choices stand by themselves."""
        titles = sorted({(one.key[0], one.group) for one in self.choices if one.group})
        return tuple(
            Group(title, key, tuple(one for one in self.choices if one.group == title))
            for key, title in titles
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that a vote may have."""
        return tuple(one.label for one in self.choices)


def class_choices(classes: Sequence[str]) -> tuple[Choice, ...]:
    """A button for each class, without a key beyond the last one, and one for none of them.

    Traffic signs stand in their six groups, and have the group's number and a letter as keys.
    """
    none = Choice(NONE_WORD, "None of the above", "n")
    if classes and set(classes) <= set(NAMES):
        return (*_signs(classes), none)
    keys = [*KEYS, *[""] * len(classes)]
    each = [Choice(name, name, key) for name, key in zip(classes, keys, strict=False)]
    return (*each, none)


def _signs(classes: Sequence[str]) -> Iterator[Choice]:
    for number, (title, members) in enumerate(GROUPS, start=1):
        named = [NAMES[member] for member in members if NAMES[member] in classes]
        for name, letter in zip(named, LETTERS, strict=False):
            yield Choice(name, name, f"{number}{letter}", title)
