"""CLEVR's 90 question families, each a generator of questions about a given scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from trex.scenes.questions import family_builders as build
from trex.scenes.questions.filters import World, pick, world_of
from trex.scenes.questions.program_builder import DeadEndError, Draft
from trex.scenes.questions.programs import YES_NO, Program, execute_built
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR, Vocabulary

_TRIES = 12  # per question
_CANDIDATES = 4  # questions with answers other than yes and no, of which one is chosen
_ROUNDS = 3  # over all families, per scene

Build = Callable[[Draft], None]


@dataclass(frozen=True, slots=True)
class Family:
    """One of CLEVR's question families; `index` is question_family_index of CLEVR v1.0."""

    index: int
    name: str
    kind: str
    build: Build


class SceneQuestion(NamedTuple):
    """A question about one scene, with its true answer there."""

    family: Family
    program: Program
    answer: str


def random_question(
    rng: np.random.Generator, scene: Scene, family: Family, vocabulary: Vocabulary = CLEVR
) -> tuple[Program, str] | None:
    """A question of this family about the scene and its answer; None if a few attempts found none.

    As in the public generator, "the ..." always matches exactly one object, the requested attribute is not
    mentioned, and the compared objects differ. A relation always matters: without it the description would match
    others (if two relations are joined, the answer would differ). Answers are as equally frequent as the scene
    allows: yes or no is drawn beforehand; of several questions one is chosen by drawing among their answers.
    """
    world = world_of(scene, vocabulary)
    preferred = YES_NO[pick(rng, 2)]
    found: dict[str, list[Program]] = {}
    for _ in range(_TRIES):
        candidate = _try(rng, world, family)
        if candidate is None:
            continue
        program, answer = candidate
        found.setdefault(answer, []).append(program)
        if answer == preferred or (answer not in YES_NO and sum(map(len, found.values())) == _CANDIDATES):
            break
    if not found:
        return None
    answer = preferred if preferred in found else sorted(found)[pick(rng, len(found))]
    return found[answer][pick(rng, len(found[answer]))], answer


def random_questions(
    rng: np.random.Generator,
    scene: Scene,
    n: int,
    weights: Sequence[float] | None = None,
    vocabulary: Vocabulary = CLEVR,
) -> tuple[SceneQuestion, ...]:
    """Up to n different questions about the scene, each from another family as long as families are left.

    `weights`, one per family of FAMILIES (equal by default), decide how early a family comes; 0: never.
    """
    rates = np.ones(len(FAMILIES)) if weights is None else np.asarray(weights, dtype=np.float64)
    questions: dict[Program, SceneQuestion] = {}
    for _ in range(_ROUNDS):
        with np.errstate(divide="ignore"):
            turns = rng.exponential(size=len(FAMILIES)) / rates
        for at in np.argsort(turns):
            if len(questions) == n or not np.isfinite(turns[at]):
                break
            drawn = random_question(rng, scene, FAMILIES[at], vocabulary)
            if drawn is not None:
                questions.setdefault(drawn[0], SceneQuestion(FAMILIES[at], *drawn))
    return tuple(questions.values())


def _try(rng: np.random.Generator, world: World, family: Family) -> tuple[Program, str] | None:
    draft = Draft(rng, world)
    try:
        family.build(draft)
    except DeadEndError:
        return None
    program = draft.program()
    return program, execute_built(program, world.sets)


def _table() -> tuple[Family, ...]:
    """The families in the order of CLEVR v1.0's question_family_index."""
    builds = [
        *_compare_integer(),
        *_compare(),
        *_hops("three_hop", 3, ("size", "shape", "color", "material")),
    ]
    builds += [*_single_and(), *_same(), *_single_or()]
    builds += _hops("one_hop", 1, ("size", "color", "material", "shape"))
    builds += _hops("two_hop", 2, ("size", "color", "material", "shape"))
    builds += [_named("zero_hop", wanted, partial(build.zero_hop, wanted)) for wanted in _ZERO_HOP]
    return tuple(Family(index, *parts) for index, parts in enumerate(builds))


_Parts = tuple[str, str, Build]  # name, kind, build
_ORDER = ("size", "color", "material", "shape")
_ZERO_HOP = ("count", "exist", "shape", "material", "color", "size")
_NO, _FIRST, _SECOND, _BOTH = (False, False), (True, False), (False, True), (True, True)
_RELATED = {_NO: "", _FIRST: "/first_related", _SECOND: "/second_related", _BOTH: "/both_related"}


def _named(kind: str, what: str, how: Build) -> _Parts:
    return (f"{kind}/{what}", kind, how)


def _compare_integer() -> list[_Parts]:
    comparisons = ("equal_integer", "less_than", "greater_than")
    return [
        _named("compare_integer", name + _RELATED[sides], partial(build.compare_integer, name, *sides))
        for sides in (_NO, _FIRST, _BOTH)
        for name in comparisons
    ]


def _compare() -> list[_Parts]:
    plain = [(name, _NO) for name in _ORDER]
    related = [(name, sides) for name in _ORDER for sides in (_FIRST, _SECOND, _BOTH)]
    return [
        _named("comparison", name + _RELATED[sides], partial(build.compare, name, *sides))
        for name, sides in plain + related
    ]


def _hops(kind: str, hops: int, attributes: Sequence[str]) -> list[_Parts]:
    return [
        _named(kind, wanted, partial(build.hops, hops, wanted)) for wanted in ("count", "exist", *attributes)
    ]


def _single_and() -> list[_Parts]:
    return [_named("single_and", wanted, partial(build.single_and, wanted)) for wanted in ("count", *_ORDER)]


def _same() -> list[_Parts]:
    plain = [(same, wanted, False) for wanted in ("exist", "count") for same in _ORDER]
    described = [(same, wanted, True) for wanted in ("exist", "count") for same in _ORDER]
    queries = [(same, wanted, True) for same in _ORDER for wanted in _ORDER if wanted != same]
    return [
        _named(
            "same_relate",
            f"same_{same}/{wanted}{'' if is_described else '_all'}",
            partial(build.same, same, wanted, is_described),
        )
        for same, wanted, is_described in plain + described + queries
    ]


def _single_or() -> list[_Parts]:
    variants = [("", _NO), ("size", _NO), ("color", _NO), ("", _BOTH)]
    variants += [("material", _NO), ("shape", _NO), ("", _FIRST), ("", _SECOND)]
    return [
        _named(
            "single_or",
            f"count{name and '_' + name}{_RELATED[sides]}",
            partial(build.single_or, name, *sides),
        )
        for name, sides in variants
    ]


FAMILIES = _table()
