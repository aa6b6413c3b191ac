"""Trains a model of this world and saves its weights with a card (`trex models train KIND`)."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from trex.artifacts.card import Card, card_path, read_card
from trex.artifacts.weights import compact, expand, load_into, write_safetensors
from trex.foundation.errors import InputError, RunError
from trex.foundation.progress import Progress, silent
from trex.mnist_models.card import ARCHITECTURES, CLASSIFIERS, DECODERS, LATENT
from trex.mnist_models.datasets import DATASETS, load_data
from trex.mnist_models.load import SUFFIX
from trex.mnist_models.networks.autoencoders import BetaVae, Vae
from trex.mnist_models.pictures import DataSet, chosen_classes, split_tracks, with_classes
from trex.mnist_models.training.classifiers import classifier_training
from trex.mnist_models.training.decoders import BetaVaeSettings, beta_vae_training, gan_training, vae_training
from trex.mnist_models.training.loop import Settings, Training, check_settings, fit
from trex.mnist_models.training.plan import Plan, check_plan, command, model_name, settings_of
from trex.mnist_models.training.quality import Figures, active_latents, classifier_figures, vae_figures


def train(plan: Plan, out: Path, progress: Progress = silent) -> Path:
    """The path of the trained weights, OUT/NAME.safetensors, with a card beside them.

    After a kill at any moment it resumes from its checkpoint in OUT; a finished training is returned. InputError for
    bad data or classes, RunError if OUT holds another training of that name; both before anything is trained.
    """
    check_plan(plan)
    found = _data(plan)
    settings = settings_of(plan, found.data)
    check_settings(settings, len(found.data.images))
    check_out(out)
    weights = out / f"{found.name}{SUFFIX}"
    if is_done(weights, settings):
        return weights
    checkpoint = out / f"{found.name}.checkpoint{SUFFIX}"
    training = fit(lambda: _training(settings), found.data, settings, checkpoint, progress)
    _save(training.modules["model"], weights, settings, found, command(settings, plan))
    checkpoint.unlink(missing_ok=True)
    return weights


class _Data(NamedTuple):
    """The pictures to learn from, held-out tracks if there are any, the test split, and the model's name."""

    data: DataSet
    held_out: DataSet | None
    test: DataSet
    name: str


def _data(plan: Plan) -> _Data:
    data, test = (load_data(plan.dataset, split, plan.data) for split in ("train", "test"))
    included = chosen_classes(data.names, plan.classes, plan.without)
    if plan.kind in CLASSIFIERS and len(included) < 2:
        raise InputError(f"a classifier needs at least 2 classes; only {len(included)} is left")
    name = model_name(plan.kind, plan.dataset, included, len(data.names))
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
