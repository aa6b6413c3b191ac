"""From a query to the parts of a search: world, model, target and kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clevr_models.question import ProgramStep, Question
from harness.aim import make_target
from harness.asked import Asked, understand
from harness.fingerprint import file_fingerprint, model_fingerprint
from harness.manifest import Made
from harness.query import Query, RenderSection
from harness.room import check_room
from harness.shapes import read_card
from inference.kernel import Metropolis
from inference.scoring import Scorer
from inference.targets import GaussianTarget
from inference.types import Generator, Proposal
from render.renderer import SceneRenderer
from scenes.edits import removals
from scenes.errors import InputError
from scenes.prior import ScenePrior
from scenes.proposals import block_moves
from scenes.random_walk import RandomWalk
from scenes.scene import Scene
from scenes.vocabulary import CLEVR, Vocabulary

if TYPE_CHECKING:  # importing torch takes seconds
    from clevr_models.bound import BoundModel, ClevrModel

FAKE = "fake"  # as preset: flat colors, no Blender; as model: counts the area of a color, no torch
FAKE_SIZE = (120, 80)


@dataclass(frozen=True)
class Plan:
    """A query whose every word has been checked; nothing is rendered yet."""

    query: Query
    asked: Asked
    prior: ScenePrior
    model_name: str
    bound: BoundModel
    target: GaussianTarget

    @property
    def vocabulary(self) -> Vocabulary:
        """What the scenes may hold."""
        return self.prior.vocabulary


@dataclass(frozen=True)
class World:
    """A plan with its renderer: all that a search needs."""

    plan: Plan
    generator: Generator[Scene]
    scorer: Scorer[Scene]
    renderer: SceneRenderer
    made: Made
    size: tuple[int, int]  # of the pictures: width, height in pixels

    def kernel(self, target: GaussianTarget) -> Metropolis[Scene]:
        """The kernel of the query, for its own target or a control."""
        return Metropolis(self.generator.prior, self.generator.proposal, self.scorer, target)


def make_plan(query: Query, beside: Path) -> Plan:
    """Checks all that is cheap: words, answers, shapes, weights. `beside` is the folder of the query file."""
    vocabulary = make_vocabulary(query, beside)
    asked = understand(query, vocabulary)
    prior = ScenePrior(vocabulary, query.scene.objects)
    check_room(vocabulary, prior.n_objects[1])
    _check_search(query)
    _check_render(query.render)
    model = open_model(query.model.name)
    bound = model.bind(Question(asked.text, tuple(ProgramStep(*step) for step in asked.program)))
    target = make_target(query.target, asked, bound.labels)
    return Plan(query, asked, prior, model.name, bound, target)


def make_vocabulary(query: Query, beside: Path) -> Vocabulary:
    """CLEVR's vocabulary with shapes introduced and values revoked."""
    vocabulary = CLEVR
    for which in query.scene.introduce:
        vocabulary = vocabulary.introduce(read_card(which, beside))
    for what in query.scene.revoke:
        vocabulary = vocabulary.revoke(what)
    return vocabulary


def open_world(plan: Plan) -> World:
    """The plan with its renderer; Blender is started, to see that it and the device are there."""
    query, prior = plan.query, plan.prior
    renderer = open_renderer(query.render, plan.vocabulary)
    proposal: Proposal[Scene] = (
        block_moves(prior) if query.search.kernel == "block" else RandomWalk(plan.vocabulary)
    )
    generator = Generator("clevr", prior, proposal, renderer, leave_one_out)
    scorer = Scorer(renderer, plan.bound)
    made = Made(
        model=model_fingerprint(plan.model_name, plan.bound),
        renderer=renderer.key,
        shapes=_shape_hashes(plan),
    )
    return World(plan, generator, scorer, renderer, made, picture_size(query.render))


def leave_one_out(scene: Scene) -> Mapping[str, Scene]:
    """The scene without each of its objects in turn."""
    return {edit.describe(scene): edit.apply(scene) for edit in removals(scene)}


def open_model(name: str) -> ClevrModel:
    """The model of this name, its weights read and checked; "fake" needs no torch."""
    if name == FAKE:
        from clevr_models.fake import fake

        return fake()
    from clevr_models.load import load_model

    return load_model(name)


def open_renderer(section: RenderSection, vocabulary: Vocabulary) -> SceneRenderer:
    """The renderer that a query asks for."""
    if section.preset == FAKE:
        from render.fake import FakeRenderer

        return FakeRenderer(*FAKE_SIZE, vocabulary=vocabulary)
    from render.blender import BlenderRenderer, default_processes

    return BlenderRenderer(
        section.preset, section.device, vocabulary, section.processes or default_processes()
    )


def picture_size(section: RenderSection) -> tuple[int, int]:
    """Width and height in pixels of the pictures that a query gets."""
    from render.presets import preset_named

    if section.preset == FAKE:
        return FAKE_SIZE
    preset = preset_named(section.preset)
    return preset.width, preset.height


def _check_search(query: Query) -> None:
    search = query.search
    if search.steps and search.prior_scenes < search.chains:
        raise InputError(
            f"search.prior_scenes = {search.prior_scenes}: {search.chains} chains start from as many prior scenes; "
            "raise prior_scenes or lower chains"
        )
    if search.warmup > search.steps:
        raise InputError(f"search.warmup = {search.warmup} is more than search.steps = {search.steps}")


def _check_render(section: RenderSection) -> None:
    from render.device import check_device
    from render.presets import preset_named

    check_device(section.device)
    if section.preset != FAKE:
        preset_named(section.preset)


def _shape_hashes(plan: Plan) -> dict[str, str]:
    """Of each introduced shape: the hash of its card and of its mesh."""
    from render.assets import mesh_paths

    introduced = [card for card in plan.vocabulary.cards if card.name not in CLEVR.shapes]
    if not introduced:
        return {}
    meshes = dict(mesh_paths(plan.vocabulary))
    return {card.name: f"{card.outline} {file_fingerprint(Path(meshes[card.name]))}" for card in introduced}
