"""From a query to the parts of a search: world, model, target and kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from trex.foundation.errors import InputError
from trex.inference.chains import Checkpoint, Round, rounds
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.targets import GaussianTarget
from trex.inference.types import Classifier, Generator, Prior, Renderer
from trex.query.question import Asked
from trex.query.schema import Query, RenderSection
from trex.render.renderer import SceneRenderer
from trex.runs.manifest import Made
from trex.scenes.prior import ScenePrior
from trex.scenes.vocabulary import ShapeCard, Vocabulary
from trex.worlds.latents import Latent
from trex.worlds.registry import kind_named
from trex.worlds.world import WorldKind

if TYPE_CHECKING:  # importing torch takes seconds
    from trex.clevr_models.interface.bound import ClevrModel

FAKE = "fake"  # as preset: flat colors, no Blender; as model: counts the area of a color, no torch
FAKE_SIZE = (120, 80)


class OpenRenderer(Renderer[Latent], Protocol):
    """A renderer that holds something."""

    @property
    def key(self) -> str:
        """All that determines the pixels besides the latent."""
        ...

    def close(self) -> None:
        """Free what is held; a later render takes it again."""
        ...


class Sampler(Protocol):
    """Steps of several chains at once."""

    def __call__(
        self, target: GaussianTarget, begin: Checkpoint[Latent], n_rounds: int
    ) -> Iterator[Round[Latent]]:
        """Rounds up to index n_rounds - 1, from the checkpoint on."""
        ...


@dataclass(frozen=True)
class Plan:
    """A query whose every word has been checked and resolved; nothing is rendered yet.

    `cards` are the shapes that scenes may hold, `trained_on` the classes that a decoder has seen. `processes` render,
    in a world that renders by processes; None: as many as the query or the machine says. No picture depends on it, so
    it is no part of the query.
    """

    kind: WorldKind
    query: Query
    asked: Asked
    prior: Prior[Latent]
    model_name: str
    bound: Classifier
    target: GaussianTarget
    cards: tuple[ShapeCard, ...] = ()
    trained_on: tuple[str, ...] = ()
    parts: object = None  # what the kind of world has loaded already
    processes: int | None = None

    @property
    def scenes(self) -> ScenePrior:
        """The prior of a query for CLEVR's scenes; InputError for any other."""
        if not isinstance(self.prior, ScenePrior):
            raise InputError(
                f"this needs scenes with objects, and generator {self.kind.name!r} has none; give a query of the "
                "generator 'clevr'"
            )
        return self.prior

    @property
    def vocabulary(self) -> Vocabulary:
        """What the scenes may hold, as above."""
        return self.scenes.vocabulary


@dataclass(frozen=True)
class World:
    """A plan with its renderer: all that a search needs."""

    plan: Plan
    generator: Generator[Latent]
    scorer: Scorer[Latent]
    renderer: OpenRenderer
    made: Made
    size: tuple[int, int]  # of the pictures: width, height in pixels
    sampler: Sampler | None = None  # where it is not Metropolis

    def rounds(
        self, target: GaussianTarget, begin: Checkpoint[Latent], n_rounds: int
    ) -> Iterator[Round[Latent]]:
        """Steps of all chains up to index n_rounds - 1, for the query's own target or a control."""
        if self.sampler is not None:
            return self.sampler(target, begin, n_rounds)
        return rounds(self.kernel(target), begin, n_rounds)

    def kernel(self, target: GaussianTarget) -> Metropolis[Latent]:
        """The Metropolis kernel of the query."""
        return Metropolis(self.generator.prior, self.generator.proposal, self.scorer, target)


def make_plan(query: Query, beside: Path) -> Plan:
    """Checks all that is cheap: words, answers, shapes, weights. `beside` is the folder of the query file."""
    return kind_named(query.generator.name).plan(query, beside)


def open_world(plan: Plan) -> World:
    """The plan with its renderer; Blender is started, to see that it and the device are there."""
    return plan.kind.open(plan)


def check_search(query: Query, kernels: tuple[str, ...]) -> Query:
    """The query with the kernel that it runs, the first of these for "auto"; InputError where no search is possible."""
    search = query.search
    if search.steps and search.prior_scenes < search.chains:
        raise InputError(
            f"search.prior_scenes = {search.prior_scenes}: {search.chains} chains start from as many prior scenes; "
            "raise prior_scenes or lower chains"
        )
    if 0 < search.steps <= search.warmup:
        raise InputError(
            f"search.warmup = {search.warmup} leaves none of search.steps = {search.steps}, of which it is a part; "
            "raise steps or lower warmup"
        )
    if search.kernel not in ("auto", *kernels):
        raise InputError(
            f"search.kernel = {search.kernel!r} does not move in {query.generator.name!r}; use {' or '.join(kernels)}"
        )
    kernel = kernels[0] if search.kernel == "auto" else search.kernel
    return query.model_copy(update={"search": search.model_copy(update={"kernel": kernel})})


def open_model(name: str) -> ClevrModel:
    """The model of this name, its weights read and checked; "fake" needs no torch."""
    if name == FAKE:
        from trex.clevr_models.fake import fake

        return fake()
    from trex.clevr_models.catalog import load_model

    return load_model(name)


def open_renderer(
    section: RenderSection, vocabulary: Vocabulary, processes: int | None = None
) -> SceneRenderer:
    """The renderer that a query asks for; `processes` of Blender, the query's own number if None."""
    if section.preset == FAKE:
        from trex.render.fake import FakeRenderer

        return FakeRenderer(*FAKE_SIZE, vocabulary=vocabulary)
    from trex.render.blender.blender_renderer import BlenderRenderer, default_processes

    count = processes or section.processes or default_processes()
    return BlenderRenderer(section.preset, section.device, vocabulary, count)


def picture_size(section: RenderSection) -> tuple[int, int]:
    """Width and height in pixels of the pictures that a query gets."""
    from trex.render.presets import preset_named

    if section.preset == FAKE:
        return FAKE_SIZE
    preset = preset_named(section.preset)
    return preset.width, preset.height
