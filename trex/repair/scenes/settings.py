"""The query of a repair on rendered scenes: the model, the looks, and the settings of each step."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trex.query.schema import Count, ModelSection, Name, Real, Section
from trex.query.toml_file import Table, validated
from trex.repair.settings import MAX_NUMBER, Lambdas, Share

CLEVR = "clevr"  # the generator's name
Positive = Annotated[Count, Field(ge=1, le=MAX_NUMBER)]


class SceneGeneratorSection(Section):
    """CLEVR's own scenes (3 to 10 objects), rendered at `look`; the proof is rendered at `deciding` too."""

    name: Literal["clevr"] = "clevr"
    look: Name = "fast"
    deciding: Name = "reference"


class SceneIdentifySection(Section):
    """How mistakes are grown from prior scenes.

    Of `seeds` scenes, which are also the ordinary ones that the model is tuned on, each object that the model misreads
    is perturbed `draws` times, by Gaussian steps of `step` Blender units. `held_out` further scenes give the mistakes
    that no later step learns from, and `validation` further ones only judge. Mistakes grow from the found scenes of
    `runs` (folders) as well.
    """

    seeds: Annotated[Count, Field(ge=25, le=MAX_NUMBER)] = 3000
    draws: Annotated[Count, Field(ge=1, le=100_000)] = 5
    held_out: Positive = 1000
    step: Annotated[Real, Field(gt=0, le=1)] = 0.1
    validation: Annotated[Count, Field(ge=2, le=MAX_NUMBER)] = 1500
    runs: tuple[Annotated[str, Field(min_length=1)], ...] = ()


class SceneDistillSection(Section):
    """The mixture on `dimensions` principal components: at most `components`, kept above weight `cutoff`."""

    dimensions: Annotated[Count, Field(ge=1, le=40)] = 12
    components: Annotated[Count, Field(ge=1, le=1000)] = 30
    cutoff: Annotated[Real, Field(gt=0, lt=1)] = 0.02
    iterations: Annotated[Count, Field(ge=1, le=1_000_000)] = 10_000
    regularization: Annotated[Real, Field(gt=0, le=1)] = 0.01


class SceneLabelSection(Section):
    """`pictures` fresh scenes of each component; it is weak if misread more than `weak` times as often as the prior."""

    pictures: Annotated[Count, Field(ge=5, le=100_000)] = 200
    weak: Annotated[Real, Field(ge=1, le=1000)] = 5.0


class SceneCorrectSection(Section):
    """Fine-tuning on L(D) + lambda * L(D_f) with `pictures` of each scenario, for each of `lambdas` and `seeds`.

    Only the `most` scenarios that are misread most often (by the lower bound) are corrected. Judged on as many fresh
    scenes as `label.pictures`, on `deciding` ones at the deciding look, and by `questions` about each validation scene.
    The lambda is chosen by `choose` further scenes among those that lose at most `loss` of the answers of the first
    third of the validation scenes against lambda 0. `device` (cpu, cuda or auto) tunes; everything else of the model
    runs on the CPU.
    """

    lambdas: Lambdas = (0.0, 0.1, 1.0)
    seeds: Annotated[Count, Field(ge=1, le=100)] = 3
    epochs: Annotated[Count, Field(ge=1, le=1000)] = 3
    batch: Annotated[Count, Field(ge=1, le=10_000)] = 32
    most: Annotated[Count, Field(ge=1, le=1000)] = 8
    rate: Annotated[Real, Field(gt=0, le=1)] = 1e-3
    pictures: Annotated[Count, Field(ge=1, le=100_000)] = 256
    choose: Annotated[Count, Field(ge=1, le=100_000)] = 60
    deciding: Annotated[Count, Field(ge=1, le=100_000)] = 100
    questions: Annotated[Count, Field(ge=1, le=1000)] = 10
    loss: Share = 0.003
    device: Literal["cpu", "cuda", "auto"] = "cpu"


class SceneRepairQuery(Section):
    """A whole repair on scenes; `seed` decides every draw of it."""

    seed: Annotated[Count, Field(ge=0, lt=2**63)] = 0
    generator: SceneGeneratorSection = SceneGeneratorSection()
    model: ModelSection = ModelSection(name="shipped")
    identify: SceneIdentifySection = SceneIdentifySection()
    distill: SceneDistillSection = SceneDistillSection()
    label: SceneLabelSection = SceneLabelSection()
    correct: SceneCorrectSection = SceneCorrectSection()


def is_of_scenes(table: Table) -> bool:
    """Whether the table of a repair's query is one on rendered scenes."""
    section = table.get("generator")
    return isinstance(section, dict) and section.get("name") == CLEVR


def scene_query(table: Table, source: str) -> SceneRepairQuery:
    """The query in a table; InputError names an invalid key."""
    return validated(SceneRepairQuery, table, source)
