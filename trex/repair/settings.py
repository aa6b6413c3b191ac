"""The query of a repair: which generator and model, and the settings of each step; one class for each domain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from trex.foundation.errors import InputError
from trex.inference.repair.perturbation import Noise
from trex.query.schema import Count, ModelSection, Name, Real, Section
from trex.query.shipped import QUERIES, SUFFIX
from trex.query.toml_file import Table, overridden, parse_table, read_text, validated
from trex.query.toml_text import toml_text

REPAIRS = QUERIES / "repair"
Share = Annotated[Real, Field(ge=0, le=1)]
MAX_NUMBER = 10_000_000
CLEVR = "clevr"  # the generator of rendered scenes


def _with_control(lambdas: tuple[float, ...]) -> tuple[float, ...]:
    if 0.0 not in lambdas or len(set(lambdas)) < len(lambdas):
        raise ValueError("give 0, which is the control without scenarios, and every value once")
    return tuple(value + 0.0 for value in lambdas)  # -0.0 is 0.0


Lambdas = Annotated[
    tuple[Annotated[Real, Field(ge=0, le=1e6)], ...],
    Field(min_length=2, max_length=100),
    AfterValidator(_with_control),
]


class GeneratorSection(Section):
    """The autoencoder that perturbs and draws pictures: a name such as "mnist-vae", or a .safetensors path."""

    name: Name = "mnist-vae"


class IdentifySection(Section):
    """How mistakes are grown.

    `seeds` training pictures, each perturbed `draws` times; `held_out` test pictures give the mistakes that no later
    step learns from. `noise`: see `trex.inference.repair.perturbation`; `scale` None is the noise's own. `cap`: the
    nearest so many mistakes of a picture are kept, and `most` of all. `compared` pictures, six draws each, count
    mistakes under every kind of noise. `validation` training pictures only judge: no step grows or learns from them; of
    traffic signs at most so many, in whole tracks.
    """

    noise: Noise = "centred"
    concentration: Annotated[Real, Field(ge=0.01, le=1e6)] = 50.0
    scale: Annotated[Real, Field(gt=0, le=100)] | None = None
    seeds: Annotated[Count, Field(ge=1, le=MAX_NUMBER)] = 6000
    draws: Annotated[Count, Field(ge=1, le=100_000)] = 50
    held_out: Annotated[Count, Field(ge=1, le=MAX_NUMBER)] = 1000
    cap: Annotated[Count, Field(ge=1, le=100_000)] = 10
    most: Annotated[Count, Field(ge=1, le=MAX_NUMBER)] = 50_000
    compared: Annotated[Count, Field(ge=1, le=MAX_NUMBER)] = 500
    validation: Annotated[Count, Field(ge=1, le=MAX_NUMBER)] = 5000


class DistillSection(Section):
    """The mixture: at most `components`, kept above weight `cutoff`; `of` "new" leaves out mistakes whose plain
    reconstruction is already wrong.
    """

    of: Literal["all", "new"] = "all"
    components: Annotated[Count, Field(ge=1, le=1000)] = 100
    cutoff: Annotated[Real, Field(gt=0, lt=1)] = 0.01
    iterations: Annotated[Count, Field(ge=1, le=1_000_000)] = 10_000


class LabelSection(Section):
    """What is voted on, and how the committee votes.

    `pictures` of each component, drawn from N(mean, `tau` * covariance). A voter of the committee says "none" if its
    largest probability is below `none_below`; each is trained for `epochs` on four fifths of the training pictures.
    """

    pictures: Annotated[Count, Field(ge=1, le=1000)] = 10
    tau: Annotated[Real, Field(gt=0, le=10)] = 0.5
    none_below: Share = 0.6
    epochs: Annotated[Count, Field(ge=1, le=1000)] = 2


class CorrectSection(Section):
    """Fine-tuning on L(D) + lambda * CE(D_f) with `pictures` of each scenario, for each of `lambdas` and `seeds`.

    `training` limits D (None: all training pictures but those of identify.validation). Scenarios below `purity` are
    not corrected. `select`: "choose" takes the lambda best on a third draw of pictures among those whose validation
    accuracy is at most `loss` below that of lambda 0; "printed" takes the one with the best training accuracy.
    `epoch`: the weights that are kept, of the "last" epoch, or of the "best" one, the first with the most right answers
    on the validation pictures (on the training pictures if `select` is "printed").
    """

    lambdas: Lambdas = (0.0, 1e-3, 0.1, 1.0, 10.0)
    seeds: Annotated[Count, Field(ge=1, le=100)] = 3
    epochs: Annotated[Count, Field(ge=1, le=1000)] = 1
    batch: Annotated[Count, Field(ge=2, le=100_000)] = 256
    rate: Annotated[Real, Field(gt=0, le=1)] = 1e-3
    pictures: Annotated[Count, Field(ge=1, le=100_000)] = 256
    training: Annotated[Count, Field(ge=2, le=MAX_NUMBER)] | None = None
    purity: Share = 0.8
    select: Literal["choose", "printed"] = "choose"
    epoch: Literal["last", "best"] = "last"
    loss: Share = 0.002


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


class SceneLabelSection(Section):
    """`pictures` fresh scenes of each family; it is a weak scenario if misread `weak` times as often as the prior."""

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


class RepairQuery(Section):
    """A whole repair; `seed` decides every draw of it."""

    seed: Annotated[Count, Field(ge=0, lt=2**63)] = 0


class DecoderQuery(RepairQuery):
    """A repair of a classifier on pictures that an autoencoder decodes: digits, garments, traffic signs."""

    generator: GeneratorSection = GeneratorSection()
    model: ModelSection = ModelSection(name="mnist-classifier")
    identify: IdentifySection = IdentifySection()
    distill: DistillSection = DistillSection()
    label: LabelSection = LabelSection()
    correct: CorrectSection = CorrectSection()


class SceneQuery(RepairQuery):
    """A repair of a CLEVR model on rendered scenes; its families have no settings."""

    generator: SceneGeneratorSection = SceneGeneratorSection()
    model: ModelSection = ModelSection(name="shipped")
    identify: SceneIdentifySection = SceneIdentifySection()
    label: SceneLabelSection = SceneLabelSection()
    correct: SceneCorrectSection = SceneCorrectSection()


def repair_table(path: Path) -> Table:
    """The table in the TOML file of a repair, not validated yet."""
    return parse_table(read_text(path), str(path))


def repair_query(table: Table, source: str) -> DecoderQuery | SceneQuery:
    """The query in a table, by its generator's name; InputError names an invalid key."""
    section = table.get("generator")
    is_of_scenes = isinstance(section, dict) and section.get("name") == CLEVR
    if is_of_scenes and "distill" in table:
        raise InputError(
            f"{source}: a repair on scenes has no [distill] any more, since its families need no settings; delete that "
            "section and carry out the steps from distill on again"
        )
    return validated(SceneQuery, table, source) if is_of_scenes else validated(DecoderQuery, table, source)


def repair_path(given: str) -> Path:
    """The file at this path or, if there is none, the shipped repair of this name."""
    path, shipped = Path(given), REPAIRS / f"{given}{SUFFIX}"
    if not path.exists() and path.name == given and shipped.is_file():
        return shipped
    if not path.exists():
        names = ", ".join(sorted(path.stem for path in REPAIRS.glob(f"*{SUFFIX}")))
        raise InputError(
            f"repair {given!r} is no file, and none of the shipped ones ({names}); give a TOML file"
        )
    return path


def chosen_table(path: Path, overrides: Sequence[str]) -> tuple[str, Table]:
    """The TOML text of a repair with overrides, and its table; without overrides the text as it was given."""
    table = overridden(repair_table(path), overrides)
    return (toml_text(_dotted(table)) if overrides else read_text(path)), table


def _dotted(table: Table) -> Table:
    flat: Table = {}
    for key, value in table.items():
        flat |= (
            {f"{key}.{name}": each for name, each in value.items()}
            if isinstance(value, dict)
            else {key: value}
        )
    return flat
