"""Trains a model of this world and saves its weights with a card (`trex models train KIND`).

The papers train VAEs for 100 epochs, classifiers for up to 100, ResNets of signs for 20 and beta-VAEs for 400 or 800;
the other numbers are our choice.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from trex.artifacts.card import Card, card_path, read_card
from trex.artifacts.precision import training_device
from trex.artifacts.weights import compact, expand, load_into, write_safetensors
from trex.foundation.errors import InputError, RunError, unknown
from trex.foundation.progress import Progress, silent
from trex.mnist_models.card import ARCHITECTURES, CLASSIFIERS, DECODERS, DIGIT_KINDS, KINDS, LATENT
from trex.mnist_models.datasets import DATASETS, described, load_data
from trex.mnist_models.load import SUFFIX, model_name, trained_models
from trex.mnist_models.networks.autoencoders import BetaVae, Vae
from trex.mnist_models.pictures import DIGIT, DataSet, chosen_classes, split_tracks, with_classes
from trex.mnist_models.training.classifiers import classifier_training
from trex.mnist_models.training.decoders import (
    OTHERS,
    PUBLISHED,
    BetaVaeSettings,
    beta_vae_training,
    gan_training,
    vae_training,
)
from trex.mnist_models.training.loop import Settings, Training, check_batch, fit
from trex.mnist_models.training.options import BetaVaePlan, Plan
from trex.mnist_models.training.quality import Figures, active_latents, classifier_figures, vae_figures

EPOCHS = {"resnet18": 20, "resnet18-16": 20, "vae": 100, "gan": 8, "beta-vae": 100}
CLASSIFIER_EPOCHS = 12


def train(kind: str, plan: Plan, progress: Progress = silent) -> Path:
    """The path of the trained weights, OUT/NAME.safetensors, with a card beside them.

    After a kill at any moment it resumes from its checkpoint in OUT; a finished training is returned. InputError for
    bad data or classes, RunError if OUT holds another training of that name; both before anything is trained.
    """
    _check_kind(kind, plan)
    found, out = _data(kind, plan), plan.out or trained_models()
    settings = settings_of(kind, plan, found.data)
    check_batch(settings, len(found.data.images))
    check_out(out)
    weights = out / f"{found.name}{SUFFIX}"
    if is_done(weights, settings):
        return weights
    checkpoint = out / f"{found.name}.checkpoint{SUFFIX}"
    training = fit(lambda: _training(settings), found.data, settings, checkpoint, progress)
    _save(training.modules["model"], weights, settings, found, command(settings, plan))
    checkpoint.unlink(missing_ok=True)
    return weights


def _check_kind(kind: str, plan: Plan) -> None:
    """Raise InputError for a kind that is not known, or makes no model of such pictures; reads no data."""
    if kind not in KINDS:
        raise unknown("kind of model", kind, KINDS)
    picture = described(plan.dataset).picture
    if kind in DIGIT_KINDS and picture != DIGIT:
        others = ", ".join(other for other in KINDS if other not in DIGIT_KINDS)
        raise InputError(
            f"{kind!r} is for pictures of 28x28 in gray; {plan.dataset} has {picture[0]}x{picture[1]} with "
            f"{picture[2]} channels: train one of {others}"
        )


def settings_of(kind: str, plan: Plan, data: DataSet) -> Settings:
    """The settings of a plan on this training split."""
    common = Settings(
        model=kind,
        dataset=plan.dataset,
        data=data.sha256,
        classes=data.names,
        seed=plan.seed,
        epochs=plan.epochs or EPOCHS.get(kind, CLASSIFIER_EPOCHS),
        batch_size=plan.batch_size,
        device=training_device(plan.device).type,
        threads=plan.threads,
    )
    if not isinstance(plan, BetaVaePlan):
        return common
    published = PUBLISHED.get(plan.dataset, OTHERS)
    return BetaVaeSettings(
        **vars(common),
        latent=plan.latent or published.latent,
        beta=published.beta if plan.beta is None else plan.beta,
        anneal=plan.anneal or published.anneal,
    )


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


class _Data(NamedTuple):
    """The pictures to learn from, held-out tracks if there are any, the test split, and the model's name."""

    data: DataSet
    held_out: DataSet | None
    test: DataSet
    name: str


def _data(kind: str, plan: Plan) -> _Data:
    data, test = (load_data(plan.dataset, split, plan.data) for split in ("train", "test"))
    included = chosen_classes(data.names, plan.classes, plan.without)
    if kind in CLASSIFIERS and len(included) < 2:
        raise InputError(f"a classifier needs at least 2 classes; only {len(included)} is left")
    name = model_name(kind, plan.dataset, included, len(data.names))
    held_out = None
    if data.groups is not None:
        split = split_tracks(data)
        held = split.held_out[np.isin(data.labels[split.held_out], included)]
        held_out = with_classes(data.at(held), included) if len(held) else None  # rare classes may have none
        data = data.at(split.learning)
    return _Data(with_classes(data, included), held_out, with_classes(test, included), name)


def _training(settings: Settings) -> Training:
    if settings.model in CLASSIFIERS:
        return classifier_training(settings)
    if isinstance(settings, BetaVaeSettings):
        return beta_vae_training(settings)
    return vae_training(settings) if settings.model == "vae" else gan_training(settings)


def _save(model: nn.Module, weights: Path, settings: Settings, found: _Data, words: str) -> None:
    """Write weights and card; `words` is the command that trains them."""
    load_into(model, expand(compact(model)), weights)
    described = DATASETS[settings.dataset]
    card: Card = {
        "kind": settings.model,
        "dataset": settings.dataset,
        "picture": list(described.picture),
        **({"latent": getattr(settings, "latent", LATENT)} if settings.model in DECODERS else {}),
        "labels": list(settings.classes),
        "architecture": ARCHITECTURES[settings.model],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "licence": described.licence,
        "command": words,
        "settings": plain(settings),
        "figures": _figures(model, settings, found),
    }
    write_safetensors(weights, compact(model), card)


def _figures(model: nn.Module, settings: Settings, found: _Data) -> Figures:
    device = torch.device(settings.device)
    if settings.model in CLASSIFIERS:
        figures = classifier_figures(model, found.test, device)
        if found.held_out is not None:
            figures["held_out"] = classifier_figures(model, found.held_out, device)
        return figures
    figures = vae_figures(model, found.test, device) if isinstance(model, Vae | BetaVae) else {}
    if isinstance(model, BetaVae):
        figures["active_latents"] = active_latents(model, found.test, device)
    return figures


def check_out(out: Path) -> None:
    """Create the folder; InputError if it cannot be made or written to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot create {out}: {error.strerror}; give another folder with --out") from error
    if not os.access(out, os.W_OK):
        raise InputError(f"cannot write to {out}; give another folder with --out")


def is_done(weights: Path, settings: Settings) -> bool:
    """Whether these weights are there, trained with these settings; RunError if with others."""
    if not (weights.exists() and card_path(weights).exists()):  # killed between the two: write both again
        return False
    found = read_card(weights).get("settings")
    if found != plain(settings):
        raise RunError(f"{weights} was trained with other settings ({found}); give another folder with --out")
    return True


def plain(settings: Settings) -> dict[str, object]:
    """The settings as the card has them."""
    return asdict(settings) | {"classes": list(settings.classes)}
