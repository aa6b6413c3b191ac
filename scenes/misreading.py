"""What a model has misread in a scene, as its answers to many questions tell: which change of the scene explains them.

A model that takes one cylinder for a cube answers as if the scene held that cube. So each change of the scene, such as
another value of one attribute of one object, is judged by the answers: a mistake that the changed scene makes right
speaks for it, a right answer that it makes wrong speaks against it. Nothing is rendered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, NamedTuple

from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.questions.programs import InvalidProgram, Program, Step, execute_on
from trex.scenes.scene import ATTRIBUTES, Scene, SceneObject, with_attribute
from trex.scenes.vocabulary import CLEVR, Vocabulary

LEAST_MARGIN = 2.0  # sure answers by which what a change explains must outweigh what it contradicts
MAX_MISREADINGS = 6  # in one scene
Kind = Literal["missed", "doubled", "shape", "size", "color", "material", "mirrored"]
ATTRIBUTE_KINDS: tuple[Kind, ...] = ("shape", "size", "color", "material")
NOTHING = ""  # the shape of an object that is not seen
MIRRORS = {"left and right": ("left", "right"), "front and behind": ("front", "behind")}


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

    `index` is the object's, None if two directions are mirrored; `value` what an attribute was taken for, or the
    directions.
    """

    kind: Kind
    index: int | None = None
    value: str = ""


Change = tuple[Misreading, ...]  # of a scene: one misreading, or two if objects exchange a value


@dataclass(frozen=True)
class Explained:
    """The misreadings, the strongest first; `by[i]` is the first one after which answer i is no mistake any more.

    0 stands for answers that were right in the first place, 1 for the first misreading, and so on; None for mistakes
    that stay. A question that has no answer in the changed scene ("the small cube", where the model saw none) counts
    as explained, since whatever the model said follows from that. `margins[k]` is what misreading k explains beyond
    what it contradicts, in sure answers; objects that exchange a value share theirs.
    """

    misreadings: tuple[Misreading, ...]
    by: tuple[int | None, ...]
    margins: tuple[float, ...] = ()


def explain(scene: Scene, answers: Sequence[Answered], vocabulary: Vocabulary = CLEVR) -> Explained:
    """The changes of the scene that explain the answers, each of which counts by its weight.

    A change must explain LEAST_MARGIN sure answers more than it contradicts, and more than every other change does,
    but for the same change of an object of the same kind; where none is, the rest remains unexplained. An attribute may
    be taken for any value of the vocabulary, revoked ones included: no scene holds those, but a model may see them.
    """
    changed, mirrored = scene, tuple[str, ...]()
    found: list[Misreading] = []
    margins: list[float] = []
    right = _right(scene_sets(scene), answers)
    by = [0 if is_right else None for is_right in right]
    while len(found) < MAX_MISREADINGS and not all(right):
        strongest = _strongest(changed, mirrored, answers, right, vocabulary)
        if strongest is None:
            break
        margin, change = strongest
        number = len(found) + 1
        for misreading in change:
            changed, mirrored = _apply(changed, mirrored, misreading)
        found += change
        margins += [margin] * len(change)
        right = _right(_sets(changed, mirrored), answers)
        by = [
            number if was is None and is_right is not False else was
            for was, is_right in zip(by, right, strict=True)
        ]
    return Explained(tuple(found), tuple(by), tuple(margins))


def answer_if(scene: Scene, misread: Sequence[Misreading], program: Program) -> str | None:
    """The answer that would be true if the scene were as it is misread; None if the question has none then."""
    changed, mirrored = scene, tuple[str, ...]()
    for misreading in misread:
        changed, mirrored = _apply(changed, mirrored, misreading)
    try:
        return execute_on(program, _sets(changed, mirrored))
    except InvalidProgram:
        return None


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


def _changes(scene: Scene, vocabulary: Vocabulary) -> Iterator[Change]:
    seen = [index for index, item in enumerate(scene.objects) if item.shape != NOTHING]
    for index in seen:
        item = scene.objects[index]
        yield (Misreading("missed", index),)
        yield (Misreading("doubled", index),)
        for kind in ATTRIBUTE_KINDS:
            for value in vocabulary.values(kind):
                if value != getattr(item, kind):
                    yield (Misreading(kind, index, value),)
    for number, other in combinations(seen, 2):
        for kind in ATTRIBUTE_KINDS:
            first, second = (getattr(scene.objects[index], kind) for index in (number, other))
            if first != second:
                yield (Misreading(kind, number, second), Misreading(kind, other, first))
    for value in MIRRORS:
        yield (Misreading("mirrored", None, value),)


def _strongest(
    scene: Scene,
    mirrored: tuple[str, ...],
    answers: Sequence[Answered],
    right: Sequence[bool | None],
    vocabulary: Vocabulary,
) -> tuple[float, Change] | None:
    """The change that is ahead and its margin, None if none is or if the answers do not tell which."""
    ranked = _ranked(scene, mirrored, answers, right, vocabulary)
    if not ranked:
        return None
    margin, change = ranked[0]
    rivals = [other for score, other in ranked[1:] if score == margin]
    return (margin, change) if all(_looks_same(scene, change, other) for other in rivals) else None


def _looks_same(scene: Scene, misreadings: Change, other: Change) -> bool:
    """Whether two changes do the same to objects of the same kind."""

    def look(change: Change) -> list[tuple[str, str, tuple[str, ...]]]:
        categories = (() if c.index is None else scene.objects[c.index].category for c in change)
        return sorted((c.kind, c.value, category) for c, category in zip(change, categories, strict=True))

    return look(misreadings) == look(other)


def _ranked(
    scene: Scene,
    mirrored: tuple[str, ...],
    answers: Sequence[Answered],
    right: Sequence[bool | None],
    vocabulary: Vocabulary,
) -> list[tuple[float, Change]]:
    """Changes by the answers that they explain less those that they contradict, best first.

    Those that are not LEAST_MARGIN ahead are left out, and others that cannot be the best.
    """
    wrong = [answer for answer, is_right in zip(answers, right, strict=True) if is_right is False]
    sound = [answer for answer, is_right in zip(answers, right, strict=True) if is_right]
    hopeful = []
    for change in _changes(scene, vocabulary):
        changed, directions = scene, mirrored
        for misreading in change:
            changed, directions = _apply(changed, directions, misreading)
        sets = _sets(changed, directions)
        explained = sum(a.weight for a, fits in zip(wrong, _right(sets, wrong), strict=True) if fits)
        if explained >= LEAST_MARGIN:
            hopeful.append((explained, change, sets))
    ranked: list[tuple[float, Change]] = []
    least = LEAST_MARGIN
    for explained, change, sets in sorted(hopeful, key=lambda row: -row[0]):
        if explained < least:
            break  # even if nothing contradicts it
        against = _contradicted(sets, sound, explained - least)
        if against is not None:
            least = max(least, explained - against)
            ranked.append((explained - against, change))
    return sorted(ranked, key=lambda row: -row[0])


def _contradicted(sets: SceneSets, answers: Sequence[Answered], most: float) -> float | None:
    """The weight of those answers that are wrong of the changed scene; None if more than `most`."""
    weight = 0.0
    for answer in answers:
        if answer.weight and _is_right(sets, answer) is False:
            weight += answer.weight
        if weight > most:
            return None
    return weight


def _right(sets: SceneSets, answers: Sequence[Answered]) -> list[bool | None]:
    return [_is_right(sets, answer) for answer in answers]


def _is_right(sets: SceneSets, answer: Answered) -> bool | None:
    """Whether an answer is right; None where the question has no answer."""
    try:
        return execute_on(answer.program, sets) == answer.said
    except InvalidProgram:
        return None


def _apply(scene: Scene, mirrored: tuple[str, ...], change: Misreading) -> tuple[Scene, tuple[str, ...]]:
    if change.index is None:
        texts = tuple(text for text in mirrored if text != change.value)
        return scene, texts if change.value in mirrored else (*mirrored, change.value)
    items = list(scene.objects)
    if change.kind == "missed":
        item = items[change.index]  # it keeps its index, so that those of the others stay the same
        items[change.index] = SceneObject(NOTHING, NOTHING, NOTHING, NOTHING, item.x, item.y, item.rotation)
    elif change.kind == "doubled":
        items.append(items[change.index])
    else:
        items[change.index] = with_attribute(items[change.index], change.kind, change.value)
    return replace(scene, objects=tuple(items)), mirrored


def _sets(scene: Scene, mirrored: tuple[str, ...]) -> SceneSets:
    sets = scene_sets(scene)
    gone = sum(1 << i for i, item in enumerate(scene.objects) if item.shape == NOTHING)
    beyond = {name: tuple(bits & ~gone for bits in rows) for name, rows in sets.beyond.items()}
    for pair in mirrored:
        relation, other = MIRRORS[pair]
        beyond |= {relation: beyond[other], other: beyond[relation]}
    return replace(sets, everything=sets.everything & ~gone, beyond=beyond)
