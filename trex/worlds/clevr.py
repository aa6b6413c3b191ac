"""CLEVR's scenes as a kind of world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.datasets.clevr_folder import ClevrFolder
from trex.datasets.examples import Example, Examples
from trex.datasets.render_files import everything
from trex.explain.explanation import Explanation
from trex.export.scene_arrays import padded_variables
from trex.foundation.words import counted
from trex.query.schema import Query, RenderSection, SceneSection
from trex.report.patterns import Commonalities, of_run
from trex.runs.folder import RunFolder
from trex.runs.manifest import Manifest
from trex.runs.record import Record
from trex.scenes.clevr_format.scene_json import SceneRecord, write_scenes
from trex.scenes.describe import object_words, scene_words
from trex.scenes.distinct import RULE, are_distinct
from trex.scenes.questions.truth import true_answer
from trex.scenes.vocabulary import Vocabulary
from trex.search.results import Findings, FoundScene
from trex.search.visibility_check import check_passes
from trex.worlds.clevr_plan import open_scenes, plan_scenes
from trex.worlds.fingerprint import model_fingerprint
from trex.worlds.latents import Latent, scene_of
from trex.worlds.plan import Plan, World
from trex.worlds.scene_summaries import scene_summaries
from trex.worlds.world import Chains, Judgment, Noun, Outline, Summary, Table, Variable

SCENES = "found_scenes.json"
SCENE = Noun("scene", "scenes")


@dataclass(frozen=True)
class ClevrKind:
    """See `trex.worlds.world.WorldKind`."""

    name: str
    noun: Noun = SCENE
    rule: str = RULE
    has_scenes: bool = True

    def plan(self, query: Query, beside: Path) -> Plan:
        """Checks words, answers, shapes and weights."""
        return plan_scenes(self, query, beside)

    def open(self, plan: Plan) -> World:
        """Blender is started, to see that it and the device are there."""
        return open_scenes(plan)

    def model_key(self, plan: Plan) -> str:
        """By its tensors."""
        return model_fingerprint(plan.model_name, plan.bound)

    def examples(self, plans: Sequence[Plan], folder: Path, splits: tuple[str, ...]) -> Examples:
        """A folder in CLEVR's layout."""
        return ClevrFolder(folder, splits, _words(plans))

    def holds(self, plan: Plan, example: Example) -> bool | None:
        """Whether each object may occur; how many there are is not asked."""
        if example.scene is None:
            return None
        return all(plan.vocabulary.allows(item) for item in example.scene.objects)

    def outline(self, plan: Plan) -> Outline:
        """How many objects of how many kinds; preset, device, processes."""
        low, high = plan.query.scene.objects
        objects = f"{low}" if low == high else f"{low} to {high}"
        kinds = len(plan.vocabulary.combinations())
        render = plan.query.render
        return Outline(
            f"{objects} object{'' if high == 1 else 's'} of {counted(kinds, 'kind')}, {_changes(plan.query.scene)}",
            f"preset {render.preset}, device {render.device}, {_processes(render)}",
        )

    def scope(self, query: Query) -> str:
        """ "5 objects, no cube, cone introduced"."""
        low, high = query.scene.objects
        parts = [f"{low}" if low == high else f"{low} to {high}"]
        parts[0] += " object" if high == 1 else " objects"
        parts += [f"no {what}" for what in query.scene.revoke]
        return ", ".join(parts + [f"{Path(which).stem} introduced" for which in query.scene.introduce])

    def are_distinct(self, one: Latent, other: Latent) -> bool:
        """See `trex.scenes.distinct`."""
        return are_distinct(scene_of(one), scene_of(other))

    def words(self, z: Latent) -> str:
        """Every object."""
        return scene_words(scene_of(z))

    def judge(self, manifest: Manifest, z: Latent, answer: str) -> Judgment:
        """By the question's program; "no answer" where CLEVR has none."""
        truth = true_answer(manifest.asked.program, scene_of(z))
        return Judgment(truth, answer != truth)

    def remarks(self, manifest: Manifest) -> tuple[str, ...]:
        """None."""
        return ()

    def summaries(self, manifest: Manifest, like: Latent) -> Mapping[str, Summary]:
        """None of them depends on the order of the objects."""
        return scene_summaries(manifest.target, manifest.vocabulary)

    def checks(self, manifest: Manifest, records: Sequence[Record]) -> tuple[str, ...]:
        """The id map against the renderer's index pass."""
        return (check_passes(records, manifest.vocabulary, manifest.facts.size).sentence(),)

    def variables(self, manifest: Manifest, chains: Chains) -> Mapping[str, Variable]:
        """The objects, padded to the same number."""
        return padded_variables(chains, manifest.query.scene.objects[1])

    def parts(self, z: Latent) -> tuple[str, ...]:
        """Its objects."""
        scene = scene_of(z)
        return tuple(object_words(scene, index) for index in range(len(scene.objects)))

    def table(self, record: Record) -> Table:
        """Where each object stands, and how much of it is seen."""
        objects = record.scene.objects
        rows = [
            (f"{o.size} {o.color} {o.material} {o.shape}", f"{o.x:.2f}", f"{o.y:.2f}", str(seen))
            for o, seen in zip(objects, record.visible, strict=True)
        ]
        return Table(f"{len(objects)} objects", ("object", "x", "y", "pixels"), tuple(rows))

    def common(
        self, manifest: Manifest, findings: Findings, explanations: Mapping[str, Explanation]
    ) -> Commonalities | None:
        """Attributes, and the object to blame."""
        return of_run(findings, explanations, manifest.vocabulary)

    def write_files(self, folder: RunFolder, found: Sequence[FoundScene]) -> Mapping[str, str]:
        """The found scenes as CLEVR writes scenes."""
        scenes = [
            SceneRecord(one.record.scene, f"{one.record.picture}.png", index, "found")
            for index, one in enumerate(found)
        ]
        info = {"split": "found", "question": folder.manifest.facts.question}
        write_scenes(folder.path / SCENES, scenes, info)
        return {SCENES: "as CLEVR scenes"}


def kind(name: str) -> ClevrKind:
    """CLEVR's world."""
    return ClevrKind(name)


def _words(plans: Sequence[Plan]) -> Vocabulary:
    """Every shape that a scene file may name: CLEVR's, those that are shipped, those that the queries introduce."""
    vocabulary = everything()
    for plan in plans:
        for card in plan.vocabulary.cards:
            if card.name not in vocabulary.shapes:
                vocabulary = vocabulary.introduce(card)
    return vocabulary


def _processes(render: RenderSection) -> str:
    if render.processes is None:
        return "a process a core (4 at most)"
    return counted(render.processes, "process", "processes")


def _changes(scene: SceneSection) -> str:
    revoke, introduce = scene.revoke, scene.introduce
    parts = [f"revoked {', '.join(revoke)}"] if revoke else []
    parts += [f"introduced {', '.join(introduce)}"] if introduce else []
    return "; ".join(parts) or "CLEVR's own"
