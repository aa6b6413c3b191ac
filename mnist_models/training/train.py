"""Trains a model of this world and saves its weights with a card (`trex train vae | gan | beta-vae | classifier`)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from trex.artifacts.precision import training_device
from trex.foundation.errors import InputError
from trex.mnist_models.card import CLASSIFIERS
from trex.mnist_models.data.classes import chosen_classes, with_classes
from trex.mnist_models.data.labelled import DataSet
from trex.mnist_models.data.load import load_data
from trex.mnist_models.data.tracks import split_tracks
from trex.mnist_models.load import SUFFIX
from trex.mnist_models.training.finished import check_out, is_done
from trex.mnist_models.training.keep import Judges, keep
from trex.mnist_models.training.loop import (
    Progress,
    Settings,
    Training,
    check_settings,
    fit,
    silent,
)
from trex.mnist_models.training.plan import Plan, check_plan, command, model_name, settings_of
from trex.mnist_models.training.train_beta_vae import BetaVaeSettings, beta_vae_training
from trex.mnist_models.training.train_classifier import classifier_training
from trex.mnist_models.training.train_gan import gan_training
from trex.mnist_models.training.train_vae import vae_training


def train(plan: Plan, out: Path, progress: Progress = silent) -> Path:
    """The path of the trained weights, OUT/NAME.safetensors, with a card beside them.

    After a kill at any moment it resumes from its checkpoint in OUT; a finished training is returned. InputError for
    bad data or classes, RunError if OUT holds another training of that name; both before anything is trained.
    """
    check_plan(plan)
    device = training_device(plan.device)
    found = _data(plan)
    settings = settings_of(plan, found.data)
    check_settings(settings, len(found.data.images))
    check_out(out)
    weights = out / f"{found.name}{SUFFIX}"
    if is_done(weights, settings):
        return weights
    checkpoint = out / f"{found.name}.checkpoint{SUFFIX}"
    training = fit(lambda: _training(settings), found.data, settings, checkpoint, progress)
    judges = Judges(found.test, found.held_out, device)
    keep(training.modules["model"], weights, settings, judges, command(settings, plan))
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
