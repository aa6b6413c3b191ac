"""The world of CLEVR's scenes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.datasets.clevr_folder import ClevrFolder
from trex.datasets.examples import Example, Examples
from trex.datasets.render_files import everything
from trex.query.question import named_answers
from trex.query.resolved import ResolvedQuery
from trex.query.schema import Query
from trex.scenes.describe import scene_words
from trex.scenes.distinct import RULE, are_distinct
from trex.scenes.questions.truth import is_wrong, true_answer
from trex.scenes.questions.wrong_answer import wrong_words
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary
from trex.worlds.description import Judgment, Known, Noun, Summary
from trex.worlds.latents import SCENES, Form
from trex.worlds.registry import WorldEntry
from trex.worlds.shipped.clevr_plan import plan_scenes
from trex.worlds.shipped.scene_summaries import scene_summaries
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
        wrong = plan.scenes.wrong
        is_allowed = all(plan.vocabulary.allows(item) for item in example.scene.objects)
        truth = true_answer(plan.question.program, example.scene)
        return Known(truth, is_allowed and (wrong is None or wrong.is_wrong(example.scene)))

    def scope(self, query: Query) -> str:
        """The world in a few words: "5 objects, no cube, cone introduced"."""
        low, high = query.scene.objects
        parts = [f"{low}" if low == high else f"{low} to {high}"]
        parts[0] += " object" if high == 1 else " objects"
        parts += [f"no {what}" for what in query.scene.revoke]
        parts += [f"{Path(which).stem} introduced" for which in query.scene.introduce]
        return ", ".join(parts + ([wrong_words(named_answers(query))] if query.wrong else []))

    def are_distinct(self, one: Scene, other: Scene) -> bool:
        """Apply the rule of `trex.scenes.distinct`."""
        return are_distinct(one, other)

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
