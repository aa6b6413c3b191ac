"""What a model can misread in a scene, and what would be true of the scene as it is misread.

A model that takes one cylinder for a cube answers as if the scene held that cube; `explaining` finds from its answers
what it has misread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from trex.scenes.graph import RELATIONS
from trex.scenes.questions.bitsets import scene_sets
from trex.scenes.questions.programs import Program, Step
from trex.scenes.questions.variants import MAX_SLOTS, ONE, Bools, Ints, Joined, Variants, joined
from trex.scenes.scene import ATTRIBUTES, Scene
from trex.scenes.vocabulary import CLEVR, Category, Vocabulary

Kind = Literal["missed", "doubled", "shape", "size", "color", "material", "mirrored", "phantom"]
ATTRIBUTE_KINDS: tuple[Kind, ...] = ("shape", "size", "color", "material")
MIRRORS = {"left and right": ("left", "right"), "front and behind": ("front", "behind")}
MAX_MISREADINGS = 6  # in one scene
MAX_TRACED = MAX_SLOTS - MAX_MISREADINGS - 1  # objects of a scene


class Answered(NamedTuple):
    """A question's program, and what the model said to it, with its probability."""

    program: Program
    said: str
    probability: float = 1.0

    @property
    def weight(self) -> float:
        """How much the answer counts, 0 to 1: p - (1 - p), what "yes" at p has ahead of "no"."""
        return max(0.0, 2.0 * self.probability - 1.0)


@dataclass(frozen=True)
class Misreading:
    """One change of a scene: what the model saw instead.

    `index` is the object's, None if two directions are mirrored, or if an object is seen that is not there, a phantom.
    `value` is what an attribute was taken for, the directions, or the phantom ("small red metal cube").
    """

    kind: Kind
    index: int | None = None
    value: str = ""


Reading = Sequence[Misreading]  # all that a model misreads in one scene


@dataclass(frozen=True)
class Seen:
    """A scene under R readings; `columns` (R,) are the places of their variants.

    Where a phantom stands is not known: with one there is a second variant, in which it has every relation to all
    objects, while in the first it has none.
    """

    variants: Variants
    columns: Ints

    def answers(self, questions: Joined) -> tuple[Ints, Bools]:
        """Answers (Q, R) as numbers, and whether there is one that is known (see `Joined.answers`)."""
        numbers, exist = questions.answers(self.variants)
        return numbers[:, self.columns], exist[:, self.columns]


def as_seen(scene: Scene, readings: Sequence[Reading], vocabulary: Vocabulary = CLEVR) -> Seen:
    """The scene under each reading, whose misreadings may come in any order."""
    values = _values(scene, readings, vocabulary)
    columns, variants_of, twins = [], list[tuple[Reading, bool]](), list[int]()
    for reading in readings:
        columns.append(at := len(variants_of))
        is_unclear = any(read.kind == "phantom" for read in reading)
        variants_of += [(reading, False), (reading, True)] if is_unclear else [(reading, False)]
        twins += [at + 1, at] if is_unclear else [at]
    added = max(
        (sum(read.kind in ("doubled", "phantom") for read in reading) for reading in readings), default=0
    )
    variants = _as_it_is(scene, values, added, np.array(twins, np.int64))
    for column, (reading, is_related) in enumerate(variants_of):
        _misread(variants, column, len(scene.objects), reading, is_related=is_related)
    return Seen(variants, np.array(columns, np.int64))


def answers_if(
    scene: Scene, readings: Sequence[Reading], program: Program, vocabulary: Vocabulary = CLEVR
) -> list[str | None]:
    """For each reading the answer that would be true of the scene so; None if the question has none then."""
    seen, question = as_seen(scene, readings, vocabulary), joined([program])
    (numbers,), (exist,) = seen.answers(question)
    return [
        question.text(0, int(number), seen.variants.values) if has_one else None
        for number, has_one in zip(numbers, exist, strict=True)
    ]


def answer_if(scene: Scene, misread: Reading, program: Program) -> str | None:
    """The answer that would be true if the scene were as it is misread; None if the question has none then."""
    return answers_if(scene, [misread], program)[0]


def census(vocabulary: Vocabulary = CLEVR) -> list[Program]:
    """Questions "How many … are there?" for every value of an attribute, and every two values of two attributes.

    Revoked values are asked about too: a model may see what no scene holds.
    """
    singles = [(name, value) for name in ATTRIBUTES for value in vocabulary.values(name)]
    pairs = [
        (texts, two) for k, texts in enumerate(singles) for two in singles[k + 1 :] if texts[0] != two[0]
    ]
    return [counting(chosen) for chosen in [(texts,) for texts in singles] + pairs]


def counting(values: Sequence[tuple[str, str]]) -> Program:
    """The question "How many … are there?" for things with these values of attributes."""
    steps = [Step("scene")]
    for name, value in values:
        steps.append(Step(f"filter_{name}", (len(steps) - 1,), (value,)))
    return (*steps, Step("count", (len(steps) - 1,)))


def phantoms(vocabulary: Vocabulary = CLEVR) -> list[Misreading]:
    """A phantom of every kind, revoked ones included."""
    kinds = product(*map(vocabulary.values, ("size", "color", "material", "shape")))
    return [Misreading("phantom", None, " ".join(kind)) for kind in kinds]


def category_of(phantom: str) -> Category:
    """(shape, size, color, material) of an object in words: "small red metal cube"."""
    size, color, material, shape = phantom.split(" ", 3)
    return shape, size, color, material


def _values(scene: Scene, readings: Sequence[Reading], vocabulary: Vocabulary) -> dict[str, tuple[str, ...]]:
    """Every value of each attribute, those that only the scene or a reading has last."""
    reads = [read for reading in readings for read in reading]
    rows = [item.category for item in scene.objects]
    rows += [category_of(read.value) for read in reads if read.kind == "phantom"]
    return {
        name: tuple(
            dict.fromkeys(
                [
                    *vocabulary.values(name),
                    *(row[k] for row in rows),
                    *(read.value for read in reads if read.kind == name),
                ]
            )
        )
        for k, name in enumerate(ATTRIBUTES)
    }


def _as_it_is(scene: Scene, values: Mapping[str, tuple[str, ...]], added: int, twins: Ints) -> Variants:
    """Variants of the scene as it is, with room for `added` objects."""
    sets, n, columns = scene_sets(scene), len(scene.objects), len(twins)
    shape = (max(1, n + added), columns)  # no object is one, too, of which nothing is asked
    codes = {name: np.zeros(shape, np.int64) for name in ATTRIBUTES}
    beyond = {name: np.zeros(shape, np.uint64) for name in RELATIONS}
    for name, table in codes.items():
        own = [values[name].index(getattr(item, name)) for item in scene.objects]
        table[:n] = np.array(own, np.int64)[:, None]
    for name, rows in beyond.items():
        rows[:n] = np.array(sets.beyond[name], np.uint64)[:, None]
    return Variants(np.full(columns, sets.everything, np.uint64), codes, beyond, values, twins)


def _misread(variants: Variants, column: int, end: int, reading: Reading, *, is_related: bool) -> None:
    """Change one variant as it is misread; added objects begin at place `end`, a phantom is related to all or none."""
    codes, beyond, present = variants.codes, variants.beyond, variants.present
    for read in sorted(
        reading, key=lambda read: read.kind not in codes
    ):  # a double is misread as its object is
        if read.kind == "mirrored":
            first, second = (beyond[name][:, column].copy() for name in MIRRORS[read.value])
            for name, rows in zip(MIRRORS[read.value], (second, first), strict=True):
                beyond[name][:, column] = rows
        elif read.kind == "missed":
            present[column] &= ~(ONE << np.uint64(read.index or 0))
        elif read.kind in codes:
            codes[read.kind][read.index or 0, column] = variants.values[read.kind].index(read.value)
        else:
            _add(variants, column, end, read, is_related=is_related)
            end += 1


def _add(variants: Variants, column: int, place: int, read: Misreading, *, is_related: bool) -> None:
    """Add the double of an object, which stands where that does, or a phantom."""
    bit = ONE << np.uint64(place)
    variants.present[column] |= bit
    if read.index is None:
        for name, value in zip(ATTRIBUTES, category_of(read.value), strict=True):
            variants.codes[name][place, column] = variants.values[name].index(value)
        for rows in variants.beyond.values() if is_related else ():
            rows[:, column] |= bit
            rows[place, column] = ~bit
        return
    for table in variants.codes.values():
        table[place, column] = table[read.index, column]
    for rows in variants.beyond.values():
        rows[:, column] |= (rows[:, column] >> np.uint64(read.index) & ONE) * bit
        rows[place, column] = rows[read.index, column]
