"""Trains a source network and adapts it to the target domain (`trex train adda`)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from trex.artifacts.card import read_card
from trex.artifacts.precision import training_device
from trex.artifacts.weights import expand, load_into, read_safetensors
from trex.mnist_models.adaptation.adversarial import adaptation_training
from trex.mnist_models.adaptation.domains import load_domain
from trex.mnist_models.adaptation.keep import KIND, keep
from trex.mnist_models.adaptation.settings import (
    AdaptationPlan,
    AdaptationSettings,
    SourceSettings,
    check_plan,
)
from trex.mnist_models.adaptation.source import source_training
from trex.mnist_models.data.labelled import DataSet
from trex.mnist_models.load import SUFFIX
from trex.mnist_models.networks.classifiers import LeNet
from trex.mnist_models.training.finished import check_out, is_done
from trex.mnist_models.training.loop import Progress, check_settings, fit, silent


@dataclass(frozen=True)
class Pair:
    """The weights of a source network, and of its adaptation."""

    source: Path
    adapted: Path


def source_name(plan: AdaptationPlan) -> str:
    """The file name of the source network: typeset-source-1 for seed 1."""
    return f"{plan.source}-source-{plan.seed}"


def adapted_name(plan: AdaptationPlan) -> str:
    """The file name of the adapted network: typeset-mnist-adda-1, its variants named."""
    words = [plan.source, plan.target, "adda"]
    words += [plan.adversary_at] * (plan.adversary_at != "logits")
    words += [plan.domain_labels] * (plan.domain_labels != "true")
    return "-".join((*words, str(plan.seed)))


def train_pair(plan: AdaptationPlan, out: Path, progress: Progress = silent) -> Pair:
    """Train the source network, then its adaptation, into OUT; finished ones are kept, killed ones resumed.

    The adaptation starts with the source weights as they are saved, in half precision. InputError for bad data or
    settings, RunError if OUT holds another training of that name; both before anything is trained.
    """
    check_plan(plan)
    device = training_device(plan.device)
    source, target = (load_domain(name, "train", plan.data) for name in (plan.source, plan.target))
    settings = _source_settings(plan, source, device)
    for data in (source, target):
        check_settings(settings, len(data.images))
    check_out(out)
    pair = Pair(*(out / f"{name}{SUFFIX}" for name in (source_name(plan), adapted_name(plan))))
    _train_source(plan, settings, source, pair, progress)
    _adapt(plan, settings, (source, target), pair, progress)
    return pair


def read_lenet(weights: Path, classes: int) -> LeNet:
    """The network of a weights file; InputError if it holds another."""
    network = LeNet(classes)
    load_into(network, expand(read_safetensors(weights)), weights)
    return network


def _train_source(
    plan: AdaptationPlan, settings: SourceSettings, source: DataSet, pair: Pair, progress: Progress
) -> None:
    if is_done(pair.source, settings):
        return
    training = fit(lambda: source_training(settings), source, settings, _checkpoint(pair.source), progress)
    keep(training.modules["model"], pair.source, settings, plan)
    _checkpoint(pair.source).unlink(missing_ok=True)


def _adapt(
    plan: AdaptationPlan,
    begun: SourceSettings,
    data: tuple[DataSet, DataSet],
    pair: Pair,
    progress: Progress,
) -> None:
    source, target = data
    settings = AdaptationSettings(
        **asdict(_counted(begun, plan.steps, len(source.images))),
        target=plan.target,
        target_data=target.sha256,
        start=str(read_card(pair.source)["sha256"]),
        adversary_at=plan.adversary_at,
        domain_labels=plan.domain_labels,
    )
    if is_done(pair.adapted, settings):
        return
    network = read_lenet(pair.source, len(begun.classes))
    training = fit(
        lambda: adaptation_training(settings, network, target.images),
        source,
        settings,
        _checkpoint(pair.adapted),
        progress,
    )
    keep(training.modules["model"], pair.adapted, settings, plan)
    _checkpoint(pair.adapted).unlink(missing_ok=True)


def _source_settings(plan: AdaptationPlan, data: DataSet, device: torch.device) -> SourceSettings:
    begun = SourceSettings(
        model=KIND,
        dataset=plan.source,
        data=data.sha256,
        classes=data.names,
        seed=plan.seed,
        epochs=1,
        batch_size=plan.batch_size,
        device=device.type,
        threads=plan.threads,
        steps=plan.source_steps,
    )
    return _counted(begun, plan.source_steps, len(data.images))


def _counted(settings: SourceSettings, steps: int, n_images: int) -> SourceSettings:
    """The settings for so many steps, and the epochs, begun ones included, that these come to."""
    per_epoch = max(1, n_images // max(1, settings.batch_size))
    return replace(settings, steps=steps, epochs=math.ceil(steps / per_epoch))


def _checkpoint(weights: Path) -> Path:
    return weights.with_name(f"{weights.stem}.checkpoint{SUFFIX}")
