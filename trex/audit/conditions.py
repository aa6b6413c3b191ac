"""What rules may speak of: conditions on an object and its surroundings, on a scene, and on a question."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trex.scenes.appearance import hidden
from trex.scenes.questions.programs import Program
from trex.scenes.relations import RELATIONS
from trex.scenes.scene import ATTRIBUTES, Scene, SceneObject
from trex.scenes.validity import BEHIND
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import RADIUS, Vocabulary

SHARES = (0.2, 0.4, 0.6, 0.8)  # visible shares that a rule may name
BESIDE = 0.5  # gap on the ground between the objects' footprints, Blender units; a large object is 1.4 wide
FAR = 1.0  # along CLEVR's direction "behind", Blender units; the ground reaches from -3 to 3
LOW = 0.25  # offset of the camera, Blender units; CLEVR's reaches from -.5 to .5
CROWDS = (5, 6, 7, 8, 9, 10)  # numbers of objects
COUNTS = tuple(range(2, 11))  # true answers that a rule may name, "at least"
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


def question_conditions(vocabulary: Vocabulary) -> tuple[OfQuestion, ...]:
    """All conditions on a question."""
    relations = [
        OfQuestion(f"relation {name}", "question", f"with the relation “{name}”", _uses("relate", name))
        for name in RELATIONS
    ]
    same = [
        OfQuestion(f"same {name}", "question", f"about the same {name}", _calls(f"same_{name}"))
        for name in ATTRIBUTES
    ]
    mentions = [
        OfQuestion(
            f"mentions {name} {value}", "question", f"that mention “{value}”", _uses(f"filter_{name}", value)
        )
        for name in ATTRIBUTES
        for value in vocabulary.available(name)
    ]
    ends = [
        OfQuestion(f"asks {name}", "question", words, _ends(name))
        for name, words in (
            ("count", "that ask for a number"),
            ("exist", "that ask whether there is any"),
            *_ENDS,
        )
    ]
    joins = [
        OfQuestion("and", "question", "with “both … and”", _calls("intersect")),
        OfQuestion("or", "question", "with “either … or”", _calls("union")),
        OfQuestion("relations 2", "question", "with two relations or more", _relates(2)),
        OfQuestion("relations 3", "question", "with three relations", _relates(3)),
    ]
    truths = [
        OfQuestion(f"truth {n}", "question", f"whose true answer is at least {n}", _is_at_least(n))
        for n in COUNTS
    ]
    return (*ends, *relations, *same, *mentions, *joins, *truths)


_ENDS = tuple((f"query_{name}", f"that ask for the {name}") for name in ATTRIBUTES) + (
    ("equal_integer", "that ask whether two numbers are equal"),
    ("less_than", "that ask whether a number is less"),
    ("greater_than", "that ask whether a number is greater"),
    *((f"equal_{name}", f"that ask whether two things have the same {name}") for name in ATTRIBUTES),
)


def object_rows(facts: Facts, conditions: Sequence[OfObject | OfScene]) -> Bools:
    """(n, m): which conditions hold for each of the n objects of a scene."""
    rows = [[_holds(one, facts, i) for one in conditions] for i in range(len(facts.scene.objects))]
    return np.array(rows, dtype=np.bool_).reshape(len(rows), len(conditions))


def scene_row(facts: Facts, conditions: Sequence[OfScene]) -> Bools:
    """(1, m): which conditions hold for a scene."""
    return np.array([[one.holds(facts) for one in conditions]], dtype=np.bool_)


def question_rows(facts: Facts, asked: Sequence[Asked], conditions: Sequence[OfQuestion | OfScene]) -> Bools:
    """(q, m): which conditions hold for each of q questions about a scene."""
    rows = [
        [one.holds(facts) if isinstance(one, OfScene) else one.holds(each) for one in conditions]
        for each in asked
    ]
    return np.array(rows, dtype=np.bool_).reshape(len(rows), len(conditions))


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
        getattr(other, name) == value and _gap(facts.scene.objects[i], other) < BESIDE
        for j, other in enumerate(facts.scene.objects)
        if j != i
    )


def _gap(one: SceneObject, other: SceneObject) -> float:
    return math.hypot(one.x - other.x, one.y - other.y) - RADIUS[one.size] - RADIUS[other.size]


def _depth(item: SceneObject) -> float:
    return item.x * BEHIND[0] + item.y * BEHIND[1]


def _is_crowd(n: int) -> Callable[[Facts], bool]:
    return lambda facts: len(facts.scene.objects) >= n


def _uses(function: str, word: str) -> Callable[[Asked], bool]:
    return lambda asked: any(
        step.function == function and step.value_inputs == (word,) for step in asked.program
    )


def _calls(function: str) -> Callable[[Asked], bool]:
    return lambda asked: any(step.function == function for step in asked.program)


def _ends(function: str) -> Callable[[Asked], bool]:
    return lambda asked: asked.program[-1].function == function


def _relates(n: int) -> Callable[[Asked], bool]:
    return lambda asked: sum(step.function == "relate" for step in asked.program) >= n


def _is_at_least(n: int) -> Callable[[Asked], bool]:
    return lambda asked: asked.truth.isdecimal() and int(asked.truth) >= n


def _thing(name: str, value: str) -> str:
    return value if name == "shape" else f"{value} object"
