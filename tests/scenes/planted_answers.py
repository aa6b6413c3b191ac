"""Answers of a model that misreads scenes in a known way, besides random errors and low probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from trex.scenes.graph import Facts, facts_of
from trex.scenes.misreading import MIRRORS, Answered, Kind, Misreading, census
from trex.scenes.prior import ScenePrior
from trex.scenes.questions.bitsets import SceneSets, scene_sets
from trex.scenes.questions.families import random_questions
from trex.scenes.questions.programs import InvalidProgram, Program, execute_on, possible_answers
from trex.scenes.scene import Scene, SceneObject, with_attribute
from trex.scenes.vocabulary import CLEVR

PRIOR = ScenePrior(n_objects=(4, 7))
N_RANDOM = 60


@cache
def drawn(number: int) -> tuple[Facts, tuple[Program, ...]]:
    """A scene, with random questions about it and the census."""
    scene = PRIOR.sample(np.random.default_rng([11, number]))
    asked = random_questions(np.random.default_rng([12, number]), scene, N_RANDOM)
    return facts_of(scene, CLEVR), (*(question.program for question in asked), *census())


def planted(
    rng: np.random.Generator, scene: Scene, kinds: Sequence[Kind]
) -> tuple[frozenset[Misreading], SceneSets]:
    """A misreading of each kind, of different objects, and the scene so seen; a phantom stands anywhere."""
    order, items = list(rng.permutation(len(scene.objects))), dict(enumerate(scene.objects))
    reads, more, mirrors = [], list[SceneObject](), list[str]()
    for kind in kinds:
        if kind == "mirrored":
            mirrors.append(list(MIRRORS)[len(mirrors)])
            reads.append(Misreading(kind, None, mirrors[-1]))
        elif kind == "phantom":
            known = {item.category for item in scene.objects}
            shape, size, color, material = _any(rng, [c for c in CLEVR.combinations() if c not in known])
            place = PRIOR.sample(rng).objects[0]
            more.append(replace(place, shape=shape, size=size, color=color, material=material))
            reads.append(Misreading(kind, None, f"{size} {color} {material} {shape}"))
        else:
            index, value = int(order.pop()), ""
            if kind == "missed":
                del items[index]
            elif kind == "doubled":
                more.append(items[index])
            else:
                value = _any(rng, [v for v in CLEVR.values(kind) if v != getattr(items[index], kind)])
                items[index] = with_attribute(items[index], kind, value)
            reads.append(Misreading(kind, index, value))
    sets = scene_sets(replace(scene, objects=(*items.values(), *more)))
    for name in mirrors:
        first, second = MIRRORS[name]
        sets = replace(sets, beyond=sets.beyond | {first: sets.beyond[second], second: sets.beyond[first]})
    return frozenset(reads), sets


def answered(
    rng: np.random.Generator, program: Program, sets: SceneSets, errors: float, sure: tuple[float, float]
) -> Answered:
    """An answer about the scene as it is seen, wrong at random in a share of `errors`; numbers mostly by one.

    Its probability is uniform in `sure`. Any answer is as probable where the question has none.
    """
    possible = possible_answers(program)
    try:
        said = execute_on(program, sets)
    except InvalidProgram:
        said = _any(rng, possible)
    if rng.random() < errors:
        by_one = said.isdecimal() and rng.random() < 0.5
        said = str(abs(int(said) + _any(rng, (-1, 1)))) if by_one else _any(rng, possible)
    return Answered(program, said, float(rng.uniform(*sure)))


def _any(rng: np.random.Generator, items: Sequence):  # type: ignore[no-untyped-def, type-arg]
    return items[int(rng.integers(len(items)))]
