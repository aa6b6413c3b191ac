"""From a query to the parts of a search: world, model, target and kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from trex.datasets.examples import Example, Examples
from trex.foundation.errors import InputError
from trex.inference.chains import Checkpoint, Round, rounds
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.targets import GaussianTarget
from trex.inference.types import Classifier, Generator, Prior
from trex.query.question import ResolvedQuestion
from trex.query.resolved import ResolvedQuery
from trex.query.schema import Query, RenderSection
from trex.render.renderer import SceneRenderer
from trex.scenes.prior import ScenePrior
from trex.scenes.vocabulary import ShapeCard, Vocabulary
from trex.worlds.description import Judgment, Noun, Outline, Summary
from trex.worlds.kernels import Sampler
from trex.worlds.latents import Latent, OpenRenderer
from trex.worlds.provenance import Provenance

if TYPE_CHECKING:  # importing torch takes seconds
    from trex.clevr_models.interface.bound import ClevrModel

FAKE = "fake"  # as preset: flat colors, no Blender; as model: counts the area of a color, no torch
FAKE_SIZE = (120, 80)


@dataclass(frozen=True)
class Plan:
    """A query whose every word has been checked and resolved; nothing is rendered yet.

    `cards` are the shapes that scenes may hold, `trained_on` the classes that a decoder has seen. `processes` render,
    in a world that renders by processes; None: as many as the query or the machine says. No picture depends on it, so
    it is no part of the query. `model_key` gives the model's name and what changes with its weights; `opener` starts
    the renderer that the world has prepared.
    """

    kind: World
    query: Query
    question: ResolvedQuestion
    prior: Prior[Latent]
    model_name: str
    bound: Classifier
    target: GaussianTarget
    outline: Outline
    model_key: Callable[[], str]
    opener: Callable[[Plan], OpenWorld]
    cards: tuple[ShapeCard, ...] = ()
    trained_on: tuple[str, ...] = ()
    processes: int | None = None

    def open(self) -> OpenWorld:
        """The plan with its renderer; Blender is started, to see that it and the device are there."""
        return self.opener(self)

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
class OpenWorld:
    """A plan with its renderer: all that a search needs."""

    plan: Plan
    generator: Generator[Latent]
    scorer: Scorer[Latent]
    renderer: OpenRenderer[Latent]
    made: Provenance
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
        return metropolis_of(self.generator, self.scorer)(target)


def metropolis_of(
    generator: Generator[Latent], scorer: Scorer[Latent]
) -> Callable[[GaussianTarget], Metropolis[Latent]]:
    """Metropolis with the generator's proposal, for any target."""
    return lambda target: Metropolis(generator.prior, generator.proposal, scorer, target)


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


class World(Protocol):
    """A kind of world: CLEVR's scenes, the digits of a decoder, or one of the user's own."""

    @property
    def name(self) -> str:
        """As the query names it in [generator]."""
        ...

    @property
    def noun(self) -> Noun:
        """What is found."""
        ...

    @property
    def has_scenes(self) -> bool:
        """Whether its latents are scenes of objects, which can be left out, changed, masked and named."""
        ...

    @property
    def rule(self) -> str:
        """When two latents count as distinct, as a sentence."""
        ...

    def plan(self, query: Query, query_dir: Path) -> Plan:
        """Checks all that is cheap, every word of the query too; `beside` is the folder of its file."""
        ...

    def examples(self, plans: Sequence[Plan], folder: Path, splits: tuple[str, ...]) -> Examples:
        """The pictures of a data folder for these queries of this kind; InputError where there are none."""
        ...

    def holds(self, plan: Plan, example: Example) -> bool | None:
        """Whether the example could be of the query's world; None where nobody knows."""
        ...

    def scope(self, query: Query) -> str:
        """The query's world in a few words: "5 objects, no cube", "digits that mnist-vae draws"."""
        ...

    def are_distinct(self, one: Latent, other: Latent) -> bool:
        """Whether both count, see `rule`."""
        ...

    def words(self, z: Latent) -> str:
        """The latent in words, for those who do not see its picture."""
        ...

    def judge(self, resolved: ResolvedQuery, z: Latent, answer: str) -> Judgment:
        """Whether the model's most probable answer is right."""
        ...

    def remarks(self, resolved: ResolvedQuery) -> tuple[str, ...]:
        """What has to be said of this world whatever was found, as sentences."""
        ...

    def summaries(self, resolved: ResolvedQuery, like: Latent) -> Mapping[str, Summary]:
        """Numbers of a whole draw that convergence is judged by; `like` is any latent of the run."""
        ...
