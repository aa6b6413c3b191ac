"""Patterns over scene graphs: objects with conditions on them and on their neighbors, and conditions on the scene."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trex.scenes.conditions import Condition, Part, noun_words, part_words

AROUND = ("scene", "question", "value")  # parts of conditions that are on no object


@dataclass(frozen=True)
class Pattern:
    """The conditions on each of a few objects, and those on scene, question or values; without any, it fits all.

    A condition with a relation stands for an edge to a further object; further objects may coincide.
    """

    objects: tuple[tuple[Condition, ...], ...] = ()
    around: tuple[Condition, ...] = ()

    @staticmethod
    def of(conditions: Iterable[Condition]) -> Pattern:
        """The pattern of a rule: one object, if any of its conditions is on one."""
        chosen = tuple(conditions)
        mine = tuple(condition for condition in chosen if condition.part not in AROUND)
        return Pattern(
            (mine,) if mine else (), tuple(condition for condition in chosen if condition not in mine)
        )

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions, those on objects first."""
        return (*(condition for conditions in self.objects for condition in conditions), *self.around)

    @property
    def words(self) -> str:
        """In words: "a small metal sphere partly hidden by a large cylinder in scenes of at least 8 objects"."""
        parts = [" and ".join(sorted(map(object_words, self.objects)))] if self.objects else []
        return " ".join([*parts, *part_words(self.around, "scene")])


def object_words(conditions: Iterable[Condition]) -> str:
    """An object in words: "a small metal sphere partly hidden by a large cylinder"."""
    chosen = tuple(conditions)
    parts = (part_words(chosen, part) for part in ("seen", "where"))
    return " ".join([noun_words(chosen), *(words for part in parts for words in part)])


def description(conditions: Sequence[Condition]) -> str:
    """What conditions say of an object: "a small object that touches another object"; "" without any on one."""
    mine = [condition for condition in conditions if condition.part not in AROUND]
    return object_words(mine) if mine else ""


def clause_words(conditions: Sequence[Condition]) -> str:
    """What a noun leaves out, as a clause: "where it is partly hidden by a large cylinder"; "" if nothing is left."""
    words = [words for part in ("seen", "where") for words in _predicates(conditions, part)]
    return f"where it {' and '.join(words)}" if words else ""


def _predicates(conditions: Sequence[Condition], part: Part) -> list[str]:
    """The conditions of one part as predicates; "is" stands once before those that follow each other."""
    words = [predicate(condition.words) for condition in conditions if condition.part == part]
    before = ["", *words]
    return [
        each.removeprefix("is ") if last.startswith("is ") else each
        for last, each in zip(before, words, strict=False)
    ]


def predicate(words: str) -> str:
    """ "that hides part of another object" without "that"; what is no verb with "is"."""
    return words.removeprefix("that ") if words.startswith("that ") else f"is {words}"
