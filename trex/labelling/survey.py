"""What annotators are shown: pictures as PNG files, a question, and the labels that they may give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from trex.foundation.words import quoted
from trex.mnist_models.datasets import DATASETS
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
    """The question of a poll, its buttons, and the command that counts its votes."""

    question: str
    task: str  # "You see one picture at a time and " continues so
    subject: str  # "this repair"
    choices: tuple[Choice, ...]  # the last one has a line of its own
    folder: Path  # that `trex label` takes
    count: str

    @property
    def serve(self) -> str:
        return f"trex label {quoted(self.folder)} --serve"

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of the choices, those of groups in their order; none if the choices stand by themselves."""
        titles = sorted({(each.key[0], each.group) for each in self.choices if each.group})
        return tuple(
            Group(title, key, tuple(each for each in self.choices if each.group == title))
            for key, title in titles
        )

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(each.label for each in self.choices)


@dataclass(frozen=True, eq=False)
class Shown:
    """The pictures' PNG files by name, the survey, the digest of the pictures, and the key of all orders.

    The key is no seed: who knows the seed could repeat the draw and learn which pictures are checks. `captions` has
    what stands beside a picture, if anything does; `examples` the PNG file of an example of a label, if there is one.
    """

    pictures: Mapping[str, bytes]
    survey: Survey
    digest: str
    key: str
    captions: Mapping[str, str] = field(default_factory=dict)
    examples: Mapping[str, bytes] = field(default_factory=dict)


def class_choices(classes: Sequence[str]) -> tuple[Choice, ...]:
    """A button for each class, without a key beyond the last one, and one for none of them.

    Classes of a data set with groups stand in these, and have the group's number and a letter as keys.
    """
    none = Choice(NONE_WORD, "None of the above", "n")
    for known in DATASETS.values():
        if classes and known.groups and set(classes) <= set(known.labels):
            return (*_grouped(classes, known.groups), none)
    keys = [*KEYS, *[""] * len(classes)]
    each = [Choice(name, name, key) for name, key in zip(classes, keys, strict=False)]
    return (*each, none)


def _grouped(classes: Sequence[str], groups: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[Choice]:
    for number, (title, members) in enumerate(groups, start=1):
        named = [member for member in members if member in classes]
        for name, letter in zip(named, LETTERS, strict=False):
            yield Choice(name, name, f"{number}{letter}", title)
