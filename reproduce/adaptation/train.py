"""Trains a source network and adapts it to the target domain (`python -m reproduce adda`)."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from reproduce import HERE
from reproduce.adaptation.adversarial import adaptation_training
from reproduce.adaptation.options import AdaptationPlan
from reproduce.adaptation.settings import AdaptationSettings, SourceSettings, check_plan
from reproduce.datasets.domains import load_domain
from trex.artifacts.card import Card, read_card
from trex.artifacts.precision import half_precision, training_device
from trex.artifacts.weights import compact, expand, load_into, read_safetensors, write_safetensors
from trex.foundation.progress import Progress, silent
from trex.mnist_models.card import ARCHITECTURES
from trex.mnist_models.load import SUFFIX, trained_models
from trex.mnist_models.networks.classifiers import LeNet
from trex.mnist_models.pictures import DataSet
from trex.mnist_models.published import SOURCES
from trex.mnist_models.training.classifiers import nll_loss
from trex.mnist_models.training.loop import Batch, Training, check_batch, fit, placed
from trex.mnist_models.training.quality import classifier_figures
from trex.mnist_models.training.train import check_out, is_done, plain

KIND = "lenet"
WEIGHTS = HERE / "weights"  # a pair that was trained already
SOURCE_RATE = 1e-3
L2 = 2.5e-5  # times half the sum of squares of the weights, biases left out, as TensorFlow's l2_regularizer


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
        check_batch(settings, len(data.images))
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


def source_training(settings: SourceSettings) -> Training:
    """The network and its step."""
    network = placed(LeNet(len(settings.classes)), settings.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=SOURCE_RATE)

    def step(batch: Batch) -> dict[str, Tensor]:
        images = batch.images.contiguous(memory_format=torch.channels_last)
        with half_precision(images.device.type):
            logits = network(images)
        loss = nll_loss(logits.float(), batch.labels)
        optimizer.zero_grad(set_to_none=True)
        (loss + penalty(network.parameters())).backward()
        optimizer.step()
        return {"loss": loss}

    return Training({"model": network}, {"optimizer": optimizer}, step)


def penalty(parameters: Iterable[nn.Parameter]) -> Tensor:
    """L2 on weights; a scalar."""
    squares = [parameter.square().sum() for parameter in parameters if parameter.ndim >= 2]
    return 0.5 * L2 * torch.stack(squares).sum()


def keep(model: nn.Module, weights: Path, settings: SourceSettings, plan: AdaptationPlan) -> None:
    """Write weights and card; the figures are those of the weights as they are stored, in half precision."""
    load_into(model, expand(compact(model)), weights)
    card: Card = {
        "kind": KIND,
        "dataset": _drawn_by(plan),
        "trained_on": _trained_on(plan, settings),
        "labels": list(settings.classes),
        "architecture": ARCHITECTURES[KIND],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "licence": "Apache-2.0",
        "command": _command(plan, settings.device),
        "settings": plain(settings),
        "figures": {
            f"{name} {split}": classifier_figures(
                model, load_domain(name, split, plan.data), torch.device(settings.device)
            )
            for name, split in _judged_on(plan)
        },
    }
    write_safetensors(weights, compact(model), card)


def _drawn_by(plan: AdaptationPlan) -> str:
    """The data set whose decoders may draw for it: the target if it has decoders, else MNIST, also ten digits."""
    return plan.target if plan.target in SOURCES else "mnist"


def _trained_on(plan: AdaptationPlan, settings: SourceSettings) -> str:
    """The data of its training, in words."""
    is_adapted = isinstance(settings, AdaptationSettings)
    return f"{plan.source} with labels" + f"; {plan.target} without labels" * is_adapted


def _judged_on(plan: AdaptationPlan) -> tuple[tuple[str, str], ...]:
    """The source's test split, and both splits of the target and of what it is asked about.

    The paper seems to have counted on the training split.
    """
    others = ((name, split) for name in (plan.target, _drawn_by(plan)) for split in ("test", "train"))
    return tuple(dict.fromkeys([(plan.source, "test"), *others]))


def _command(plan: AdaptationPlan, device: str) -> str:
    """The command that trains this pair."""
    words = [f"python -m reproduce adda --source {plan.source} --target {plan.target} --seed {plan.seed}"]
    words += [f"--adversary-at {plan.adversary_at}"] * (plan.adversary_at != "logits")
    words += [f"--domain-labels {plan.domain_labels}"] * (plan.domain_labels != "true")
    words += [f"--source-steps {plan.source_steps} --steps {plan.steps} --batch-size {plan.batch_size}"]
    return " ".join((*words, f"--device {device} --threads {plan.threads}"))


def offer_weights() -> None:
    """Put the pair of typeset digits that is kept here where models are found by name, unless it is there."""
    for path in WEIGHTS.iterdir():
        if not (trained_models() / path.name).exists():
            trained_models().mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, trained_models() / path.name)
