"""The query of a repair: which generator and model, and the settings of each step; one class for each domain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from trex.foundation.errors import InputError, unknown
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
    """The autoencoder that perturbs and draws pictures.

    Parameters
    ----------
    name : str, default "mnist-vae"
        Its name, or the path of a .safetensors file. Example: name="fashion-vae".
    """

    name: Name = "mnist-vae"


class IdentifySection(Section):
    """How mistakes are grown.

    Parameters
    ----------
    noise : "printed", "centred" or "posterior", default "centred"
        The noise on a picture's code. "printed": Beta(a, a), as in the paper. "centred": the same around 0.
        "posterior": Gaussian, as wide as the encoder is unsure. Example: noise="posterior".
    concentration : float, default 50.0
        The a of Beta(a, a), 0.01 or more: larger ones make smaller steps. Example: concentration=100.0.
    scale : float, default None
        Factor of the noise that is centered on 0. None for 4 with "centred", 1 with "posterior". Example: scale=2.0.
    seeds : int, default 6000
        Training pictures that are perturbed. Example: seeds=3000.
    draws : int, default 50
        Perturbations of each of them. Example: draws=20.
    held_out : int, default 1000
        Test pictures whose mistakes no later step learns from. Example: held_out=500.
    cap : int, default 10
        Most mistakes that are kept of a picture, the nearest ones. Example: cap=5.
    most : int, default 50000
        Most mistakes that are kept in all. Example: most=10000.
    compared : int, default 500
        Pictures that count mistakes under every kind of noise, six draws each. Example: compared=200.
    validation : int, default 5000
        Training pictures that only judge: no step learns from them. Of traffic signs it is an upper bound, since tracks
        stay whole. Example: validation=2000.
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
    """The mixture that groups the mistakes.

    Parameters
    ----------
    of : "all" or "new", default "all"
        Whether all mistakes are grouped, or only those whose plain reconstruction is still right. Example: of="new".
    components : int, default 100
        Most groups. Example: components=50.
    cutoff : float, default 0.01
        Groups of a smaller weight, 0 to 1, are dropped. Example: cutoff=0.02.
    iterations : int, default 10000
        Most steps of the fit. Example: iterations=2000.
    """

    of: Literal["all", "new"] = "all"
    components: Annotated[Count, Field(ge=1, le=1000)] = 100
    cutoff: Annotated[Real, Field(gt=0, lt=1)] = 0.01
    iterations: Annotated[Count, Field(ge=1, le=1_000_000)] = 10_000


class LabelSection(Section):
    """What is voted on, and how the committee votes.

    Parameters
    ----------
    pictures : int, default 10
        Pictures of each group that are voted on. Example: pictures=20.
    tau : float, default 0.5
        They are drawn from N(mean, tau * covariance) of the group: below 1, nearer to its middle. Example: tau=1.0.
    none_below : float, default 0.6
        A voter of the committee says "none" if its largest probability is below this. Example: none_below=0.8.
    epochs : int, default 2
        Passes over four fifths of the training pictures that train each voter. Example: epochs=4.
    """

    pictures: Annotated[Count, Field(ge=1, le=1000)] = 10
    tau: Annotated[Real, Field(gt=0, le=10)] = 0.5
    none_below: Share = 0.6
    epochs: Annotated[Count, Field(ge=1, le=1000)] = 2


class CorrectSection(Section):
    """Fine-tuning on L(D) + lambda * CE(D_f), where D are training pictures and D_f those of the scenarios.

    Parameters
    ----------
    lambdas : tuple of float, default (0.0, 0.001, 0.1, 1.0, 10.0)
        Weights of the scenarios that are tried. 0 must be among them: it is the control. Example: lambdas=[0.0, 1.0].
    seeds : int, default 3
        Repetitions of the fine-tuning. Example: seeds=5.
    epochs : int, default 1
        Passes over D. Example: epochs=3.
    batch : int, default 256
        Pictures in each step. Example: batch=64.
    rate : float, default 0.001
        Learning rate. Example: rate=0.0001.
    pictures : int, default 256
        Pictures of each scenario. Example: pictures=100.
    training : int, default None
        Pictures of D. None for all training pictures but those of identify.validation. Example: training=4000.
    purity : float, default 0.8
        Scenarios of a smaller purity, 0 to 1, are not corrected. Example: purity=0.6.
    select : "choose" or "printed", default "choose"
        How the lambda is chosen. "choose": by a further draw of pictures, among those that keep the accuracy.
        "printed": by the best training accuracy, as in the paper. Example: select="printed".
    epoch : "last" or "best", default "last"
        Which weights are kept. "best": of the first epoch with the most right answers on the validation pictures, or on
        the training pictures if `select` is "printed". Example: epoch="best".
    loss : float, default 0.002
        With "choose", validation accuracy may be this much below that of lambda 0, as a share. Example: loss=0.01.
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
    """CLEVR's own scenes, of 3 to 10 objects.

    Parameters
    ----------
    name : "clevr", default "clevr"
        It makes the repair one on rendered scenes. Example: name="clevr".
    look : str, default "fast"
        The preset of all pictures. Example: look="draft".
    deciding : str, default "reference"
        The preset at which the proof is rendered too. Example: deciding="fast".
    """

    name: Literal["clevr"] = "clevr"
    look: Name = "fast"
    deciding: Name = "reference"


class SceneIdentifySection(Section):
    """How mistakes are grown from prior scenes.

    Parameters
    ----------
    seeds : int, default 3000
        Scenes in which the model's misread objects are perturbed. The model is tuned on them too. Example: seeds=1500.
    draws : int, default 5
        Perturbations of each misread object. Example: draws=3.
    held_out : int, default 1000
        Further scenes whose mistakes no later step learns from. Example: held_out=400.
    step : float, default 0.1
        Standard deviation of a perturbation, in Blender units. Example: step=0.2.
    validation : int, default 1500
        Further scenes that only judge. Example: validation=600.
    runs : tuple of str, default ()
        Folders of runs, from whose found scenes mistakes grow as well. Example: runs=["runs/demo"].
    """

    seeds: Annotated[Count, Field(ge=25, le=MAX_NUMBER)] = 3000
    draws: Annotated[Count, Field(ge=1, le=100_000)] = 5
    held_out: Positive = 1000
    step: Annotated[Real, Field(gt=0, le=1)] = 0.1
    validation: Annotated[Count, Field(ge=2, le=MAX_NUMBER)] = 1500
    runs: tuple[Annotated[str, Field(min_length=1)], ...] = ()


class SceneLabelSection(Section):
    """Which families become scenarios.

    Parameters
    ----------
    pictures : int, default 200
        Fresh scenes of each family that are judged. Example: pictures=100.
    weak : float, default 5.0
        A family becomes a scenario if it is misread this many times as often as random scenes. Example: weak=3.0.
    """

    pictures: Annotated[Count, Field(ge=5, le=100_000)] = 200
    weak: Annotated[Real, Field(ge=1, le=1000)] = 5.0


class SceneCorrectSection(Section):
    """Fine-tuning on L(D) + lambda * L(D_f), where D are ordinary scenes and D_f those of the scenarios.

    It is judged on as many fresh scenes as `label.pictures`.

    Parameters
    ----------
    lambdas : tuple of float, default (0.0, 0.1, 1.0)
        Weights of the scenarios that are tried. 0 must be among them: it is the control. Example: lambdas=[0.0, 1.0].
    seeds : int, default 3
        Repetitions of the fine-tuning. Example: seeds=5.
    epochs : int, default 3
        Passes over D. Example: epochs=1.
    batch : int, default 32
        Pictures in each step. Example: batch=64.
    most : int, default 8
        Most scenarios that are corrected: those misread most often, by the lower bound. Example: most=4.
    rate : float, default 0.001
        Learning rate. Example: rate=0.0001.
    pictures : int, default 256
        Scenes of each scenario. Example: pictures=60.
    choose : int, default 60
        Further scenes that choose the lambda. Example: choose=100.
    deciding : int, default 100
        Fresh scenes that are judged at the deciding preset. Example: deciding=40.
    questions : int, default 10
        Questions about each validation scene that judge. Example: questions=5.
    loss : float, default 0.003
        Right answers that a lambda may lose against lambda 0, as a share. The first third of the validation scenes
        counts them. Example: loss=0.01.
    device : "cpu", "cuda" or "auto", default "cpu"
        What tunes; everything else of the model runs on the CPU. Example: device="cuda".
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
        names = sorted(path.stem for path in REPAIRS.glob(f"*{SUFFIX}"))
        raise unknown(
            "repair", given, names, "A repair is one of these shipped ones, or the path of a TOML file."
        )
    return path


def by_key(query: RepairQuery) -> Table:
    """The settings of a repair by their keys, such as "correct.epochs"."""
    return _dotted(query.model_dump(mode="json"))


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
