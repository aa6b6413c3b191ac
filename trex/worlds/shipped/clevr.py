"""The world of CLEVR's scenes, and summaries of one that ignore the order of its objects, to judge convergence by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from trex.datasets.clevr_folder import ClevrFolder
from trex.datasets.examples import Example, Examples
from trex.datasets.render_files import everything
from trex.inference.statistics.diagnostics import basic_summaries
from trex.inference.types import Draw, Floats, Target
from trex.query.question import named_answers
from trex.query.resolved import ResolvedQuery
from trex.query.schema import Query
from trex.scenes.camera import axes
from trex.scenes.distinct import RULE, are_distinct
from trex.scenes.questions.truth import is_wrong, true_answer
from trex.scenes.questions.wrong_answer import wrong_words
from trex.scenes.scene import ATTRIBUTES, NUISANCES, Scene, scene_words
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.description import Judgment, Known, Noun, Summary
from trex.worlds.latents import SCENES, Form
from trex.worlds.registry import WorldEntry
from trex.worlds.shipped.clevr_plan import plan_scenes
from trex.worlds.shipped.served_model import model_remarks
from trex.worlds.world import Plan

SCENE = Noun("scene", "scenes")


@dataclass(frozen=True)
class ClevrWorld:
    """CLEVR's scenes, rendered by Blender; implements `trex.worlds.world.World`."""

    name: str
    noun: Noun = SCENE
    rule: str = RULE
    form: Form[Scene] = SCENES

    def plan(self, query: Query, query_dir: Path) -> Plan:
        """Check words, answers, shapes and weights."""
        return plan_scenes(self, query, query_dir)

    def examples(self, plans: Sequence[Plan], folder: Path, splits: tuple[str, ...]) -> Examples:
        """The pictures of a folder in CLEVR's layout."""
        return ClevrFolder(folder, splits, _words(plans))

    def known(self, plan: Plan, example: Example) -> Known:
        """What the question's program gives on the example's scene, and whether such a scene may occur.

        It may if each object may, whatever their number, and the query's condition holds.
        """
        if example.scene is None:
            return Known(None, None)
        is_allowed = all(plan.vocabulary.allows(item) for item in example.scene.objects)
        truth = true_answer(plan.question.program, example.scene)
        return Known(truth, is_allowed and plan.scenes.meets(example.scene))

    def scope(self, query: Query) -> str:
        """The world in a few words: "5 objects, no cube, cone introduced"."""
        low, high = query.scene.objects
        parts = [f"{low}" if low == high else f"{low} to {high}"]
        parts[0] += " object" if high == 1 else " objects"
        parts += [f"no {what}" for what in query.scene.revoke]
        parts += [f"{Path(which).stem} introduced" for which in query.scene.introduce]
        return ", ".join(parts + ([wrong_words(named_answers(query))] if query.wrong else []))

    def are_distinct(self, scene: Scene, other: Scene) -> bool:
        """Apply the rule of `trex.scenes.distinct`."""
        return are_distinct(scene, other)

    def words(self, z: Scene) -> str:
        """A list of the scene's objects."""
        return scene_words(z)

    def judge(self, resolved: ResolvedQuery, z: Scene, answer: str) -> Judgment:
        """Run the question's program on the scene.

        If the program has none in CLEVR, the true answer is "no answer", and no answer is right or wrong.
        """
        truth = true_answer(resolved.question.program, z)
        return Judgment(truth, is_wrong(answer, truth))

    def remarks(self, resolved: ResolvedQuery) -> tuple[str, ...]:
        """How exact the probabilities of a served model are; empty for any other model."""
        return model_remarks(resolved.query.model)

    def summaries(self, resolved: ResolvedQuery, like: Scene) -> Mapping[str, Summary]:
        """Summaries of a scene that do not depend on the order of its objects."""
        return scene_summaries(resolved.target, resolved.vocabulary, resolved.query.scene.objects)


WORLDS = (WorldEntry("clevr", ClevrWorld),)


def _words(plans: Sequence[Plan]) -> Vocabulary:
    """Every shape that a scene file may name: CLEVR's, the shipped ones, and those that the queries introduce."""
    return everything().with_cards(card for plan in plans for card in plan.vocabulary.cards)


def scene_summaries(target: Target, vocabulary: Vocabulary, n_objects: tuple[int, int]) -> dict[str, Summary]:
    """Confidence, log weight, counts, distances between objects and to the camera, and the nuisances.

    The number of objects is among them where it varies.
    """
    found: dict[str, Summary] = dict(basic_summaries(target))
    for attribute in ATTRIBUTES:
        for value in vocabulary.available(attribute):
            found[f"number of {value} objects"] = partial(_count, attribute=attribute, value=value)
    if n_objects[0] < n_objects[1]:
        found["number of objects"] = lambda draw: float(len(draw.z.objects))
    found["mean distance"] = lambda draw: mean_distance(draw.z)
    found["least distance"] = lambda draw: least_distance(draw.z)
    found["mean depth"] = lambda draw: float(np.mean(depths(draw.z)))
    found["least depth"] = lambda draw: float(np.min(depths(draw.z)))
    for part in NUISANCES:
        # Its length: all coordinates are redrawn together.
        found[f"{part.words} offset"] = partial(_offset, name=part.name)
    return found


def _count(draw: Draw[Scene], attribute: str, value: str) -> float:
    return float(sum(getattr(item, attribute) == value for item in draw.z.objects))


def _offset(draw: Draw[Scene], name: str) -> float:
    return float(np.linalg.norm(getattr(draw.z.nuisances, name)))


def mean_distance(scene: Scene) -> float:
    """Mean distance between two objects in Blender units, 0 if there are fewer than two."""
    return float(np.mean(_distances(scene) or [0.0]))


def least_distance(scene: Scene) -> float:
    """Distance of the two nearest objects in Blender units, 0 if there are fewer than two."""
    return min(_distances(scene), default=0.0)


def depths(scene: Scene) -> Floats:
    """(n,): the distance from the camera, with its offset, to the ground below each object, in Blender units."""
    position = axes(scene.nuisances.camera)[0]
    return np.array([np.linalg.norm(position - (item.x, item.y, 0.0)) for item in scene.objects])


def _distances(scene: Scene) -> list[float]:
    return [float(np.hypot(a.x - b.x, a.y - b.y)) for a, b in combinations(scene.objects, 2)]
