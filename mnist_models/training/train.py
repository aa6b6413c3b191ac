"""Trains a model of this world and saves its weights with a card (`trex train vae | gan | classifier`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from trex.artifacts.card import Card, read_card
from trex.artifacts.weights import compact, expand, load_into, read_safetensors, write_safetensors
from trex.foundation.errors import InputError, unknown
from trex.foundation.json_fields import mapping
from trex.mnist_models.card import ARCHITECTURES, CLASSIFIERS, KINDS
from trex.mnist_models.data.classes import chosen_classes, with_classes
from trex.mnist_models.data.labelled import DataSet, load_data
from trex.mnist_models.load import SUFFIX
from trex.mnist_models.networks.vae import Vae
from trex.mnist_models.training.fid_features import FidFeatures
from trex.mnist_models.training.finished import check_out, is_done, plain
from trex.mnist_models.training.loop import (
    Progress,
    Settings,
    Training,
    check_settings,
    device_of,
    fit,
    silent,
)
from trex.mnist_models.training.quality import Figures, classifier_figures, decoder_fid, vae_figures
from trex.mnist_models.training.train_classifier import classifier_training
from trex.mnist_models.training.train_gan import gan_training
from trex.mnist_models.training.train_vae import vae_training

# the paper trains VAEs for 100 and classifiers for up to 100; the others are our choice
EPOCHS = {"classifier": 12, "lenet": 12, "ambiguous": 12, "vae": 100, "gan": 8}
BATCH_SIZE = 128


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


def train(
    plan: Plan, out: Path, fid_features: FidFeatures | None = None, progress: Progress = silent
) -> Path:
    """The path of the trained weights, OUT/NAME.safetensors, with a card beside them.

    After a kill at any moment it resumes from its checkpoint in OUT; a finished training is returned. The features
    of `fid_features` give a decoder's FID, also for weights that were finished before. InputError for bad data or
    classes, RunError if OUT holds another training of that name; both before anything is trained.
    """
    if plan.kind not in KINDS:
        raise unknown("kind of model", plan.kind, KINDS)
    device = device_of(plan.device)
    data, test, name = _data(plan)
    settings = _settings(plan, data, device)
    check_settings(settings, len(data.images))
    if fid_features is not None and fid_features.dataset not in (None, plan.dataset):
        raise InputError(
            f"--judge is a classifier of {fid_features.dataset}; the FID of {plan.dataset} needs one of that data set"
        )
    check_out(out)
    weights = out / f"{name}{SUFFIX}"
    if is_done(weights, settings):
        if fid_features is not None:
            _add_fid(weights, settings, fid_features, test, device)
        return weights
    checkpoint = out / f"{name}.checkpoint{SUFFIX}"
    training = fit(lambda: _training(settings), data, settings, checkpoint, progress)
    _keep(
        training.modules["model"],
        weights,
        settings,
        plan,
        _figures(settings, training, test, fid_features, device),
    )
    checkpoint.unlink(missing_ok=True)
    return weights


def model_name(kind: str, dataset: str, included: tuple[int, ...], n_classes: int) -> str:
    """The file name of a model: mnist-vae, mnist-gan-without-3, fashion-classifier-only-2-3-5-6-9."""
    left_out = [k for k in range(n_classes) if k not in included]
    if not left_out:
        return f"{dataset}-{kind}"
    word, numbers = ("without", left_out) if len(left_out) < len(included) else ("only", list(included))
    return "-".join((dataset, kind, word, *map(str, numbers)))


def _data(plan: Plan) -> tuple[DataSet, DataSet, str]:
    data, test = (load_data(plan.dataset, split, plan.data) for split in ("train", "test"))
    included = chosen_classes(data.names, plan.classes, plan.without)
    if plan.kind in CLASSIFIERS and len(included) < 2:
        raise InputError(f"a classifier needs at least 2 classes; only {len(included)} is left")
    name = model_name(plan.kind, plan.dataset, included, len(data.names))
    return with_classes(data, included), with_classes(test, included), name


def _settings(plan: Plan, data: DataSet, device: torch.device) -> Settings:
    return Settings(
        model=plan.kind,
        dataset=plan.dataset,
        data=data.sha256,
        classes=data.names,
        seed=plan.seed,
        epochs=EPOCHS[plan.kind] if plan.epochs is None else plan.epochs,
        batch_size=plan.batch_size,
        device=device.type,
        threads=plan.threads,
    )


def _training(settings: Settings) -> Training:
    if settings.model in CLASSIFIERS:
        return classifier_training(settings)
    return vae_training(settings) if settings.model == "vae" else gan_training(settings)


def _figures(
    settings: Settings,
    training: Training,
    test: DataSet,
    fid_features: FidFeatures | None,
    device: torch.device,
) -> Figures:
    """Figures of the weights as they are stored, in half precision."""
    model = training.modules["model"]
    load_into(model, expand(compact(model)), Path(settings.model))
    if settings.model in CLASSIFIERS:
        return classifier_figures(model, test, device)
    figures = vae_figures(model, test, device) if isinstance(model, Vae) else {}
    return figures if fid_features is None else figures | _fid(model, fid_features, test, device)


def _add_fid(
    weights: Path, settings: Settings, fid_features: FidFeatures, test: DataSet, device: torch.device
) -> None:
    """Add the FID to the card of weights that were finished before."""
    card = read_card(weights)
    figures = mapping(card["figures"], "figures")
    if settings.model in CLASSIFIERS or figures.get(f"{fid_features.key}_sha256") == fid_features.sha256:
        return
    model = _training(settings).modules["model"].eval()
    load_into(model, expand(read_safetensors(weights)), weights)
    found = {**figures, **_fid(model, fid_features, test, device)}
    write_safetensors(weights, compact(model), {**card, "figures": found})


def _fid(model: nn.Module, fid_features: FidFeatures, test: DataSet, device: torch.device) -> Figures:
    return decoder_fid(model.decoder if isinstance(model, Vae) else model, fid_features, test, device)


def _keep(model: nn.Module, weights: Path, settings: Settings, plan: Plan, figures: Figures) -> None:
    card: Card = {
        "kind": settings.model,
        "dataset": settings.dataset,
        "labels": list(settings.classes),
        "architecture": ARCHITECTURES[settings.model],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "licence": "Apache-2.0",
        "command": _command(settings, plan),
        "settings": plain(settings),
        "figures": figures,
    }
    write_safetensors(weights, compact(model), card)


def _command(settings: Settings, plan: Plan) -> str:
    kind = "classifier" if settings.model in CLASSIFIERS else settings.model
    words = ["trex train", kind, f"--dataset {settings.dataset}"]
    if kind != settings.model:
        words.append(f"--network {settings.model}")
    words += [f"--{name} {','.join(given)}" for name, given in _named(plan) if given]
    words += [f"--seed {settings.seed}", f"--epochs {settings.epochs}", f"--batch-size {settings.batch_size}"]
    return " ".join((*words, f"--device {settings.device}", f"--threads {settings.threads}"))


def _named(plan: Plan) -> tuple[tuple[str, Sequence[str]], ...]:
    return ("classes", plan.classes), ("without", plan.without)
