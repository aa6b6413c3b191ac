"""Saves a trained model with its card, whose figures are those of the weights as they are stored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from trex.artifacts.card import Card
from trex.artifacts.weights import compact, expand, load_into, write_safetensors
from trex.mnist_models.card import ARCHITECTURES, CLASSIFIERS, DECODERS, LATENT
from trex.mnist_models.data.datasets import DATASETS
from trex.mnist_models.data.labelled import DataSet
from trex.mnist_models.networks.beta_vae import BetaVae
from trex.mnist_models.networks.vae import Vae
from trex.mnist_models.training.finished import plain
from trex.mnist_models.training.loop import Settings
from trex.mnist_models.training.quality import (
    Figures,
    active_latents,
    classifier_figures,
    vae_figures,
)
from trex.mnist_models.training.train_beta_vae import BetaVaeSettings


@dataclass(frozen=True, eq=False)
class Judges:
    """What a model is judged by: the test split, and held-out tracks if the data set has any."""

    test: DataSet
    held_out: DataSet | None
    device: torch.device


def keep(model: nn.Module, weights: Path, settings: Settings, judges: Judges, words: str) -> None:
    """Write weights and card; `words` is the command that trains them."""
    load_into(model, expand(compact(model)), weights)
    described = DATASETS[settings.dataset]
    card: Card = {
        "kind": settings.model,
        "dataset": settings.dataset,
        "picture": list(described.picture),
        **({"latent": latent_of(settings)} if settings.model in DECODERS else {}),
        "labels": list(settings.classes),
        "architecture": ARCHITECTURES[settings.model],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "licence": described.licence,
        "command": words,
        "settings": plain(settings),
        "figures": _figures(model, settings, judges),
    }
    write_safetensors(weights, compact(model), card)


def latent_of(settings: Settings) -> int:
    """The number of latents of a decoder."""
    return settings.latent if isinstance(settings, BetaVaeSettings) else LATENT


def _figures(model: nn.Module, settings: Settings, judges: Judges) -> Figures:
    if settings.model in CLASSIFIERS:
        figures = classifier_figures(model, judges.test, judges.device)
        if judges.held_out is not None:
            figures["held_out"] = classifier_figures(model, judges.held_out, judges.device)
        return figures
    figures = vae_figures(model, judges.test, judges.device) if isinstance(model, Vae | BetaVae) else {}
    if isinstance(model, BetaVae):
        figures["active_latents"] = active_latents(model, judges.test, judges.device)
    return figures
