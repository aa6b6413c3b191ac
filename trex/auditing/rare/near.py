"""Scenes near those that failed: changed copies, which show what of a failing scene matters.

A failure that one scene shows fits any rule. Each copy differs in one thing: an attribute of the object that failed,
another object, the lights; where the failure stays, that thing does not matter. Rules are made from copies as from
other scenes; no figure is, as the copies are no random scenes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from trex.auditing.membership import ExaminedScene
from trex.auditing.probe import CHANGES
from trex.families.family import Family
from trex.families.symptom import Failure
from trex.inference.rng import AUDIT_STREAM, stream
from trex.scenes.edits import Edit, attribute_edits, removals
from trex.scenes.scene import Scene
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import Vocabulary

COPIES = 40  # of a scene that failed
SCENES = 2  # that failed in one way, of which copies are made
TRIES = 10  # changes for each copy
NEAR = 5  # stream of random numbers of an audit, after that of `choice`
Kind = tuple[
    str, str, str, str
]  # a symptom's level and name, what the unit is in truth, what it is taken for


def near_scenes(
    scenes: Sequence[ExaminedScene], families: Sequence[Family], vocabulary: Vocabulary, seed: int, n: int
) -> list[Scene]:
    """At most n copies of scenes with failures that no family holds: those of the most frequent kinds of failures."""
    copies, starts = list[Scene](), unheld(scenes, families)[: -(-n // COPIES)]
    for number, (scene, unit) in enumerate(starts):
        rng = stream(seed, AUDIT_STREAM, NEAR, number)
        copies += changed_copies(rng, scene, unit, vocabulary, min(COPIES, n - len(copies)))
    return copies


def unheld(scenes: Sequence[ExaminedScene], families: Sequence[Family]) -> list[tuple[Scene, int | None]]:
    """Up to SCENES scenes for each kind of failure that no family holds, the most frequent kinds first.

    Each with the object that failed, None if the failure is on no object. Wrong answers that no misreading explains
    are left out: copies say nothing about the question.
    """
    kinds: dict[Kind, list[tuple[Scene, int | None]]] = defaultdict(list)
    for scene in scenes:
        held = {
            (family.symptom, unit) for family in families if scene.failures for unit in _held(scene, family)
        }
        for failure in scene.failures:
            if failure.symptom.level != "question" and (failure.symptom, failure.unit) not in held:
                unit = failure.unit if failure.symptom.level == "object" else None
                kinds[_kind(scene, failure)].append((scene.facts.scene, unit))
    ordered = sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind))
    return [start for place in range(SCENES) for kind in ordered for start in kinds[kind][place : place + 1]]


def _held(scene: ExaminedScene, family: Family) -> list[int]:
    failed, *_ = scene.failing(family)
    return failed


def _kind(scene: ExaminedScene, failure: Failure) -> Kind:
    level, what = failure.symptom.level, failure.symptom.what
    was = getattr(scene.facts.scene.objects[failure.unit], what, "") if level == "object" else ""
    return level, what, str(was), failure.value


def changed_copies(
    rng: np.random.Generator, scene: Scene, unit: int | None, vocabulary: Vocabulary, n: int
) -> list[Scene]:
    """n valid scenes, fewer if the scene allows no more: each edit of the unit, each removal, then random changes."""
    own = attribute_edits(scene, vocabulary) if unit is not None else iter(())
    edits: Iterator[Edit] = iter(
        [
            *(edit for edit in own if edit.index == unit),
            *(edit for edit in removals(scene) if edit.index != unit and len(scene.objects) > 1),
        ]
    )
    copies = dict.fromkeys(copy for edit in edits if is_valid(copy := edit.apply(scene), vocabulary))
    ways = [change(vocabulary) for change in CHANGES.values()]
    for k in range(TRIES * n):
        if len(copies) >= n:
            break
        copy = ways[k % len(ways)](rng, scene)
        if copy != scene and is_valid(copy, vocabulary):
            copies[copy] = None
    return list(copies)[:n]
