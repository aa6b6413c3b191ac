"""What rules may speak of: conditions on an object and its surroundings, on a scene, and on a question."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trex.scenes.appearance import hidden
from trex.scenes.properties import RADIUS
from trex.scenes.questions.programs import Program
from trex.scenes.scene import ATTRIBUTES, Scene, SceneObject
from trex.scenes.validity import BEHIND
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import Vocabulary

SHARES = (0.2, 0.4, 0.6, 0.8)  # visible shares that a rule may name
BESIDE = 0.5  # gap on the ground between the objects' footprints, Blender units; a large object is 1.4 wide
FAR = 1.0  # along CLEVR's direction "behind", Blender units; the ground reaches from -3 to 3
LOW = 0.25  # offset of the camera, Blender units; CLEVR's reaches from -.5 to .5
ORDER = ("size", "color", "material", "shape")  # of the words before a noun
CROWDS = (5, 6, 7, 8, 9, 10)  # numbers of objects
Part = Literal["noun", "seen", "where", "scene", "question"]
Level = Literal["object", "scene", "question"]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Facts:
    """A scene, and of each object its visible share and the index of what hides most of the rest."""

    scene: Scene
    shares: tuple[float, ...]
    hiders: tuple[int | None, ...]


@dataclass(frozen=True)
class Asked:
    """A question about a scene: its program and its true answer."""

    program: Program
    truth: str


@dataclass(frozen=True)
class Condition:
    """A condition in words, and the part of a sentence that they belong to; `key` names it in files."""

    key: str
    part: Part
    words: str


@dataclass(frozen=True)
class OfObject(Condition):
    """A condition on object i of a scene."""

    holds: Callable[[Facts, int], bool]


@dataclass(frozen=True)
class OfScene(Condition):
    """A condition on a scene."""

    holds: Callable[[Facts], bool]


@dataclass(frozen=True)
class OfQuestion(Condition):
    """A condition on a question."""

    holds: Callable[[Asked], bool]


def facts_of(scene: Scene, vocabulary: Vocabulary) -> Facts:
    """The facts of a scene; takes an id map of the scene and one of each object."""
    whole = id_map(scene, vocabulary)
    rows = [hidden(scene, index, vocabulary, whole) for index in range(len(scene.objects))]
    return Facts(scene, tuple(share for share, _ in rows), tuple(hider for _, hider in rows))


def gap(one: SceneObject, other: SceneObject) -> float:
    """The distance on the ground between two objects' footprints, Blender units."""
    return math.hypot(one.x - other.x, one.y - other.y) - RADIUS[one.size] - RADIUS[other.size]


def object_conditions(vocabulary: Vocabulary) -> tuple[OfObject, ...]:
    """All conditions on an object."""
    values = [(name, value) for name in ATTRIBUTES for value in vocabulary.available(name)]
    nouns = [OfObject(f"{name} {value}", "noun", value, _has(name, value)) for name, value in values]
    seen = [
        OfObject(
            f"visible {share}",
            "seen",
            f"less than {round(100 * share)}\u00a0% visible",
            _is_visible_below(share),
        )
        for share in SHARES
    ]
    larger = OfObject("hidden by larger", "seen", "behind a larger object", _is_hidden_by_larger)
    near = [
        OfObject(
            f"beside {name} {value}", "where", f"beside a {_thing(name, value)}", _is_beside(name, value)
        )
        for name, value in values
    ]
    where = (
        OfObject("far back", "where", "at the back", lambda facts, i: _depth(facts.scene.objects[i]) > FAR),
        OfObject(
            "far front", "where", "at the front", lambda facts, i: _depth(facts.scene.objects[i]) < -FAR
        ),
    )
    return (*nouns, *seen, larger, *where, *near)


def scene_conditions() -> tuple[OfScene, ...]:
    """All conditions on a scene."""
    crowds = [
        OfScene(f"objects {n}", "scene", f"in scenes of at least {n} objects", _is_crowd(n)) for n in CROWDS
    ]
    return (
        *crowds,
        OfScene(
            "camera low", "scene", "when the camera is low", lambda f: f.scene.nuisances.camera[2] < -LOW
        ),
        OfScene(
            "camera high", "scene", "when the camera is high", lambda f: f.scene.nuisances.camera[2] > LOW
        ),
    )


def noun_words(conditions: Sequence[Condition]) -> str:
    """The object that conditions speak of: "a small metal cylinder", "an object"."""
    named = {one.key.split()[0]: one.words for one in conditions if one.part == "noun"}
    words = [named[name] for name in ORDER if name in named]
    noun = " ".join(words if "shape" in named else [*words, "object"])
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def part_words(conditions: Sequence[Condition], part: Part) -> list[str]:
    """The words of all conditions of one part, joined; no words if there are none."""
    words = [one.words for one in conditions if one.part == part]
    return [" and ".join(words)] if words else []


def object_rows(facts: Facts, conditions: Sequence[OfObject | OfScene]) -> Bools:
    """(n, m): which conditions hold for each of the n objects of a scene."""
    rows = [[_holds(one, facts, i) for one in conditions] for i in range(len(facts.scene.objects))]
    return np.array(rows, dtype=np.bool_).reshape(len(rows), len(conditions))


def scene_row(facts: Facts, conditions: Sequence[OfScene]) -> Bools:
    """(1, m): which conditions hold for a scene."""
    return np.array([[one.holds(facts) for one in conditions]], dtype=np.bool_)


def _holds(condition: OfObject | OfScene, facts: Facts, index: int) -> bool:
    return condition.holds(facts) if isinstance(condition, OfScene) else condition.holds(facts, index)


def _has(name: str, value: str) -> Callable[[Facts, int], bool]:
    return lambda facts, i: getattr(facts.scene.objects[i], name) == value


def _is_visible_below(share: float) -> Callable[[Facts, int], bool]:
    return lambda facts, i: facts.shares[i] < share


def _is_hidden_by_larger(facts: Facts, index: int) -> bool:
    hider = facts.hiders[index]
    items = facts.scene.objects
    return hider is not None and RADIUS[items[hider].size] > RADIUS[items[index].size]


def _is_beside(name: str, value: str) -> Callable[[Facts, int], bool]:
    return lambda facts, i: any(
        getattr(other, name) == value and gap(facts.scene.objects[i], other) < BESIDE
        for j, other in enumerate(facts.scene.objects)
        if j != i
    )


def _depth(item: SceneObject) -> float:
    return item.x * BEHIND[0] + item.y * BEHIND[1]


def _is_crowd(n: int) -> Callable[[Facts], bool]:
    return lambda facts: len(facts.scene.objects) >= n


def _thing(name: str, value: str) -> str:
    return value if name == "shape" else f"{value} object"
