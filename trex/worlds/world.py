"""The interface of a world, and the path from a query to the parts of a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from trex.clevr_models.specs.adapter import misplaced_option
from trex.datasets.examples import Example, Examples
from trex.foundation.errors import InputError
from trex.foundation.extensions import given
from trex.inference.metropolis import Metropolis
from trex.inference.scoring import Scorer
from trex.inference.targets import GaussianTarget
from trex.inference.types import Classifier, Prior, Proposal, Z
from trex.query.question import ResolvedQuestion
from trex.query.resolved import ResolvedQuery
from trex.query.schema import Query, RenderSection
from trex.render.drawing import SceneDrawing
from trex.render.presets import ANALYTIC, ANALYTIC_SIZE
from trex.render.renderer import SceneRenderer
from trex.scenes.prior import ScenePrior
from trex.scenes.vocabulary import ShapeCard, Vocabulary
from trex.worlds.description import Judgment, Known, Noun, Outline, Provenance, Summary
from trex.worlds.latents import Form, Latent, OpenRenderer
from trex.worlds.looks import DECIDING, Looks

if TYPE_CHECKING:  # importing torch takes seconds
    from torch import Tensor

    from trex.clevr_models.interface.bound import ClevrModel
    from trex.clevr_models.interface.options import ModelOptions

FAKE = "fake"  # as preset: flat colors, no Blender; as model: measures the area of a color, no torch
# Presets whose pictures need no Blender and have no render noise, with their sizes.
WITHOUT_BLENDER = {FAKE: (120, 80), "fake-small": (60, 40), ANALYTIC: ANALYTIC_SIZE}


@dataclass(frozen=True)
class Plan:
    """A query with every value checked and resolved; nothing is rendered yet.

    `cards` are the shapes that scenes may hold, `trained_on` the classes that a decoder has seen. `processes` is
    the number of render processes, in a world that uses them; None takes the query's number or the machine's
    default. No picture depends on it, so it is not part of the query. `model_key` returns the model's name and a
    hash that changes with its weights, `shapes` one of each introduced shape's files; `opener` starts the renderer
    that the world has prepared. `asks` is the model before it was bound to its question; None in a world without
    questions.
    """

    world: World[Latent]
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
    shapes: Callable[[], Mapping[str, str]] = dict
    asks: ClevrModel | None = None

    def open(self) -> OpenWorld:
        """Start the renderer, to check that it (for Blender, also the device) is available."""
        return self.opener(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of the model before a search; empty for most."""
        return tuple(getattr(self.bound, "notes", ()))

    @property
    def scenes(self) -> ScenePrior:
        """The prior of a query for CLEVR's scenes; InputError for any other query."""
        if not isinstance(self.prior, ScenePrior):
            raise InputError(
                f"this needs scenes with objects, which generator {self.world.name!r} does not have; use a query "
                "of generator 'clevr'"
            )
        return self.prior

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the scenes; InputError in a world without objects."""
        return self.scenes.vocabulary


@dataclass(frozen=True)
class OpenWorld:
    """A query's world with its started renderer: what the `make` of a sampler gets.

    trex makes it; a sampler reads it.

    Parameters
    ----------
    plan : Plan
        The checked query. `plan.prior` draws latents; `plan.query` has every key of the query.
    proposal : Proposal
        The proposal that the query names, or the default of its world.
    scorer : Scorer
        Renders latents at the preset that decides and asks the model.
    renderer : OpenRenderer
        Renders latents at that preset, without the model.
    made : Provenance
        Names and hashes of model and renderer, which a resumed run must have too.
    size : pair of int
        Width and height of the pictures, in pixels.
    differentiable : callable, default None
        From latents (B, d) to log probabilities (B, K) in torch. None in a world without gradients. Example:
        world.differentiable(torch.zeros(1, 2)).
    looks : Looks, default None
        The cheaper renderers that may lead a search. None in a world that has one renderer. Example:
        world.looks is None.

    Examples
    --------
    A sampler that runs Metropolis as the query asks for::

        def make(world, search):
            return lambda target, begin, n_rounds: rounds(world.kernel(target), begin, n_rounds)
    """

    plan: Plan
    proposal: Proposal[Latent]
    scorer: Scorer[Latent]
    renderer: OpenRenderer[Latent]
    made: Provenance
    size: tuple[int, int]
    differentiable: Callable[[Tensor], Tensor] | None = None
    looks: Looks | None = None

    def scorer_at(self, look: str) -> Scorer[Latent]:
        """The scorer of a look; a world without looks has the deciding one alone."""
        if self.looks is None:
            assert look == DECIDING, f"{self.plan.world.name} has no look {look!r}"
            return self.scorer
        return self.looks.scorer(look)

    def renderer_at(self, look: str) -> OpenRenderer[Latent]:
        """The renderer of a look."""
        return self.renderer if self.looks is None or look == DECIDING else self.looks.renderer(look)

    def close(self) -> None:
        """End all renderers; a later render starts them again."""
        if self.looks is not None:
            self.looks.close()
        self.renderer.close()

    def kernel(self, target: GaussianTarget) -> Metropolis[Latent]:
        """The Metropolis kernel of the query.

        Parameters
        ----------
        target : GaussianTarget
            The level set that a sampler is called with. Example: world.plan.target.
        """
        return Metropolis(self.plan.prior, self.proposal, self.scorer, target)


def open_model(name: str, options: ModelOptions | None = None) -> ClevrModel:
    """The model of this name and with a query's options, its weights read and checked; "fake" needs no torch.

    InputError if there is no such model, or if it does not take an option.
    """
    if options is not None and (problem := misplaced_option(name, options)):
        raise InputError(problem)
    if name == FAKE:
        from trex.clevr_models.fake import fake

        return fake()
    from trex.clevr_models.catalog import load_model

    return load_model(name, options=options)


def size_without_blender(preset: str) -> tuple[int, int] | None:
    """Width and height of the pictures of a preset that needs no Blender; None for Blender's."""
    drawing = given(SceneDrawing, preset)
    return WITHOUT_BLENDER.get(preset) if drawing is None else drawing.size


def open_renderer(
    section: RenderSection, vocabulary: Vocabulary, processes: int | None = None
) -> SceneRenderer:
    """The query's renderer, with this many Blender processes, or the query's own number if None."""
    if (drawing := given(SceneDrawing, section.preset)) is not None:
        return drawing
    if section.preset in WITHOUT_BLENDER and section.preset != ANALYTIC:
        from trex.render.fake import FakeRenderer

        return FakeRenderer(*WITHOUT_BLENDER[section.preset], vocabulary=vocabulary)
    from trex.render.blender.blender_renderer import BlenderRenderer, default_processes

    count = processes if processes is not None else section.processes or default_processes()
    if section.preset == ANALYTIC:
        from trex.render.analytic.look import AnalyticRenderer

        return AnalyticRenderer(*ANALYTIC_SIZE, vocabulary, threads=count)
    return BlenderRenderer(section.preset, section.device, vocabulary, count)


def picture_size(section: RenderSection) -> tuple[int, int]:
    """Width and height in pixels of a query's pictures."""
    from trex.render.presets import preset_named

    if (size := size_without_blender(section.preset)) is not None:
        return size
    preset = preset_named(section.preset)
    return preset.width, preset.height


class World(Protocol[Z]):
    """A world: CLEVR's scenes, the digits of a decoder, or a user-defined one. It alone looks inside its latents."""

    @property
    def name(self) -> str:
        """The world's name in [generator]."""
        ...

    @property
    def noun(self) -> Noun:
        """The noun for a hit."""
        ...

    @property
    def form(self) -> Form[Z]:
        """What its latents are; those of `SCENES` have objects, which can be left out, changed, masked and named."""
        ...

    @property
    def rule(self) -> str:
        """One sentence: when two latents count as distinct."""
        ...

    def plan(self, query: Query, query_dir: Path) -> Plan:
        """Check everything that is cheap, every value of the query included; `query_dir` is the folder of its file."""
        ...

    def examples(self, plans: Sequence[Plan], folder: Path, splits: tuple[str, ...]) -> Examples:
        """The pictures of a data folder for these queries, all of this world; InputError if there are none."""
        ...

    def known(self, plan: Plan, example: Example) -> Known:
        """The true answer to the query's question for an example, and whether it could come from the query's world."""
        ...

    def scope(self, query: Query) -> str:
        """The query's world in a few words: "5 objects, no cube", "digits that mnist-vae draws"."""
        ...

    def are_distinct(self, z: Z, other: Z) -> bool:
        """Whether two latents count as distinct under `rule`."""
        ...

    def words(self, z: Z) -> str:
        """The latent in words, for readers who do not see its picture."""
        ...

    def judge(self, resolved: ResolvedQuery, z: Z, answer: str) -> Judgment:
        """Judge the model's most probable answer."""
        ...

    def remarks(self, resolved: ResolvedQuery) -> tuple[str, ...]:
        """Caveats of this world that every report states, as sentences."""
        ...

    def summaries(self, resolved: ResolvedQuery, like: Z) -> Mapping[str, Summary]:
        """Numbers of a whole draw that convergence is judged by; `like` is any latent of the run."""
        ...
