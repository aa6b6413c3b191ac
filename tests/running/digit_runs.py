"""Tiny random decoders and classifiers under the names of trained ones, and a quick query on them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from tests.running.runs import find
from trex.artifacts.weights import compact, write_safetensors
from trex.finding.conclude import Outcome
from trex.mnist_models import load
from trex.mnist_models.networks.autoencoders import Vae
from trex.mnist_models.networks.classifiers import Classifier
from trex.mnist_models.published import SOURCES

QUERY = """
answer = "2"
[generator]
name = "mnist-vae"
[target]
kind = "threshold"
threshold = 0.5
width = 0.1
[search]
prior_scenes = 24
further = 0
chains = 2
steps = 8
"""


def save_models(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where models that were trained here lie: of mnist a VAE of all classes and one without 4, and a classifier."""
    monkeypatch.setenv("TREX_CACHE", str(folder))
    monkeypatch.setattr(load, "SHIPPED", folder / "nothing is shipped")
    place, names = load.trained_models(), SOURCES["mnist"].labels
    place.mkdir(parents=True)
    for seed, (name, kind, labels) in enumerate(
        [
            ("mnist-vae", "vae", names),
            ("mnist-vae-without-4", "vae", tuple(name for name in names if name != "4")),
            ("mnist-classifier", "classifier", names),
        ]
    ):
        save(place / f"{name}.safetensors", kind, labels, seed)
    return place


def save(path: Path, kind: str, labels: Sequence[str], seed: int, dataset: str = "mnist") -> None:
    """Random weights; the classifier's last layer is enlarged, so that its answers differ from picture to picture."""
    torch.manual_seed(seed)
    module = Vae() if kind == "vae" else Classifier(len(labels))  # also of a "lenet", which is then a mistake
    with torch.no_grad():
        if isinstance(module, Vae):
            module.decoder.pixels.weight.mul_(20.0)
        else:
            module.answer[-1].weight.mul_(60.0)  # type: ignore[operator,union-attr]
    write_safetensors(path, compact(module), {"kind": kind, "dataset": dataset, "labels": list(labels)})


def search(folder: Path, overrides: Sequence[str] = (), name: str = "run") -> Outcome:
    """A whole run of the query, in this process."""
    query = folder / "query.toml"
    query.write_text(QUERY)
    return find(query, overrides, folder / name)
