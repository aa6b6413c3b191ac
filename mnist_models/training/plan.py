"""What a user may choose of a training, and the settings that follow from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trex.artifacts.precision import training_device
from trex.foundation.errors import InputError, unknown
from trex.mnist_models.card import CLASSIFIERS, DIGIT_KINDS, KINDS
from trex.mnist_models.datasets import DATASETS, described
from trex.mnist_models.pictures import DIGIT, DataSet
from trex.mnist_models.training.decoders import OTHERS, PUBLISHED, BetaVaeSettings, check_beta
from trex.mnist_models.training.loop import Settings, check_number, check_numbers

# the papers train VAEs for 100, classifiers for up to 100, ResNets of signs for 20 and beta-VAEs for 400 or 800; the
# others are our choice
EPOCHS = {
    "classifier": 12,
    "lenet": 12,
    "ambiguous": 12,
    "resnet18": 20,
    "resnet18-16": 20,
    "vae": 100,
    "gan": 8,
    "beta-vae": 100,
}
BATCH_SIZE = 128
MAX_EPOCHS = 100_000


@dataclass(frozen=True)
class Plan:
    """What to train. Classes are given by names or numbers; `data` is a folder, None the usual places."""

    kind: str
    dataset: str
    classes: Sequence[str] = ()
    without: Sequence[str] = ()
    seed: int = 1
    epochs: int | None = None  # EPOCHS of the kind
    batch_size: int = BATCH_SIZE
    device: str = "auto"
    threads: int = 1
    data: Path | None = None


@dataclass(frozen=True)
class BetaVaePlan(Plan):
    """A beta-VAE; None is the data set's published number."""

    latent: int | None = None
    beta: float | None = None
    anneal: int | None = None


def check_plan(plan: Plan) -> None:
    """Raise InputError for kinds, data sets and numbers that make no training; reads no data."""
    if plan.kind not in KINDS:
        raise unknown("kind of model", plan.kind, KINDS)
    picture = described(plan.dataset).picture
    if plan.kind in DIGIT_KINDS and picture != DIGIT:
        others = ", ".join(kind for kind in KINDS if kind not in DIGIT_KINDS)
        raise InputError(
            f"{plan.kind!r} is for pictures of 28x28 in gray; {plan.dataset} has {picture[0]}x{picture[1]} with "
            f"{picture[2]} channels: train one of {others}"
        )
    check_numbers(plan.seed, plan.batch_size, plan.threads)
    check_number("epochs", EPOCHS[plan.kind] if plan.epochs is None else plan.epochs, 1, MAX_EPOCHS)
    if isinstance(plan, BetaVaePlan):
        check_beta(*_beta_numbers(plan))


def default_network(dataset: str) -> str:
    """The kind of classifier for a data set if its user names none."""
    is_digit = dataset not in DATASETS or DATASETS[dataset].picture == DIGIT
    return "classifier" if is_digit else "resnet18"


def settings_of(plan: Plan, data: DataSet) -> Settings:
    """The settings of a plan on this training split."""
    common = Settings(
        model=plan.kind,
        dataset=plan.dataset,
        data=data.sha256,
        classes=data.names,
        seed=plan.seed,
        epochs=EPOCHS[plan.kind] if plan.epochs is None else plan.epochs,
        batch_size=plan.batch_size,
        device=training_device(plan.device).type,
        threads=plan.threads,
    )
    if not isinstance(plan, BetaVaePlan):
        return common
    latent, beta, anneal = _beta_numbers(plan)
    return BetaVaeSettings(**vars(common), latent=latent, beta=beta, anneal=anneal)


def model_name(kind: str, dataset: str, included: tuple[int, ...], n_classes: int) -> str:
    """The file name of a model: mnist-vae, mnist-gan-without-3, fashion-classifier-only-2-3-5-6-9."""
    left_out = [k for k in range(n_classes) if k not in included]
    if not left_out:
        return f"{dataset}-{kind}"
    word, numbers = ("without", left_out) if len(left_out) < len(included) else ("only", list(included))
    return "-".join((dataset, kind, word, *map(str, numbers)))


def command(settings: Settings, plan: Plan) -> str:
    """The command that trains these weights."""
    kind = "classifier" if settings.model in CLASSIFIERS else settings.model
    words = ["trex models train", kind, f"--dataset {settings.dataset}"]
    if kind != settings.model:
        words.append(f"--network {settings.model}")
    if isinstance(settings, BetaVaeSettings):
        words.append(f"--latent {settings.latent} --beta {settings.beta:g} --anneal {settings.anneal}")
    named = (("classes", plan.classes), ("without", plan.without))
    words += [f"--{name} {','.join(given)}" for name, given in named if given]
    words += [f"--seed {settings.seed}", f"--epochs {settings.epochs}", f"--batch-size {settings.batch_size}"]
    return " ".join((*words, f"--device {settings.device}", f"--threads {settings.threads}"))


def _beta_numbers(plan: BetaVaePlan) -> tuple[int, float, int]:
    published = PUBLISHED.get(plan.dataset, OTHERS)
    return (
        published.latent if plan.latent is None else plan.latent,
        published.beta if plan.beta is None else plan.beta,
        published.anneal if plan.anneal is None else plan.anneal,
    )
