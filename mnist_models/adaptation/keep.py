"""Saves a network of an adaptation with its card: what it was trained on, and how many pictures it gets right."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from trex.artifacts.card import Card
from trex.artifacts.weights import compact, expand, load_into, write_safetensors
from trex.mnist_models.adaptation.domains import load_domain
from trex.mnist_models.adaptation.settings import AdaptationPlan, AdaptationSettings, SourceSettings
from trex.mnist_models.card import ARCHITECTURES
from trex.mnist_models.data.datasets import SOURCES
from trex.mnist_models.training.finished import plain
from trex.mnist_models.training.quality import classifier_figures

KIND = "lenet"


def keep(model: nn.Module, weights: Path, settings: SourceSettings, plan: AdaptationPlan) -> None:
    """Write weights and card; the figures are those of the weights as they are stored, in half precision."""
    load_into(model, expand(compact(model)), weights)
    card: Card = {
        "kind": KIND,
        "dataset": asked_about(plan),
        "trained_on": trained_on(plan, settings),
        "labels": list(settings.classes),
        "architecture": ARCHITECTURES[KIND],
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "licence": "Apache-2.0",
        "command": command(plan, settings.device),
        "settings": plain(settings),
        "figures": {
            f"{name} {split}": classifier_figures(
                model, load_domain(name, split, plan.data), torch.device(settings.device)
            )
            for name, split in _judged_on(plan)
        },
    }
    write_safetensors(weights, compact(model), card)


def asked_about(plan: AdaptationPlan) -> str:
    """The data set whose decoders may draw for it: the target if it has decoders, else MNIST, also ten digits."""
    return plan.target if plan.target in SOURCES else "mnist"


def trained_on(plan: AdaptationPlan, settings: SourceSettings) -> str:
    """The data of its training, in words."""
    is_adapted = isinstance(settings, AdaptationSettings)
    return f"{plan.source} with labels" + f"; {plan.target} without labels" * is_adapted


def _judged_on(plan: AdaptationPlan) -> tuple[tuple[str, str], ...]:
    """The source's test split, and both splits of the target and of what it is asked about.

    The paper seems to have counted on the training split.
    """
    others = ((name, split) for name in (plan.target, asked_about(plan)) for split in ("test", "train"))
    return tuple(dict.fromkeys([(plan.source, "test"), *others]))


def command(plan: AdaptationPlan, device: str) -> str:
    """The command that trains this pair."""
    words = [f"trex train adda --source {plan.source} --target {plan.target} --seed {plan.seed}"]
    words += [f"--adversary-at {plan.adversary_at}"] * (plan.adversary_at != "logits")
    words += [f"--domain-labels {plan.domain_labels}"] * (plan.domain_labels != "true")
    words += [f"--source-steps {plan.source_steps} --steps {plan.steps} --batch-size {plan.batch_size}"]
    return " ".join((*words, f"--device {device} --threads {plan.threads}"))
