"""A committee of five networks that votes in place of people; its votes are always called that.

The members differ in architecture, seed and fold: each is trained on four fifths of the training pictures, never on
anything that was found, and none is the model under repair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from trex.artifacts.weights import compact, expand, load_into
from trex.foundation.progress import Progress
from trex.inference.repair.votes import NONE
from trex.mnist_models.networks.classifiers import LeNet, Perceptron, ResNet18, Strided
from trex.mnist_models.pictures import DataSet, Shape
from trex.mnist_models.training.classifiers import LEARNING_RATE, classifier_step, nll_loss
from trex.mnist_models.training.loop import Settings, Training, fit, placed
from trex.repair.decoders.loaded import probabilities
from trex.repair.files import Floats, Ints, Pictures, floats, read_arrays, write_arrays

Member = tuple[str, Callable[[int, Shape], nn.Module]]
MEMBERS: tuple[Member, ...] = (
    ("LeNet", LeNet),
    ("strided convolutions", Strided),
    ("perceptron", Perceptron),
    ("LeNet (second seed)", LeNet),
    ("strided convolutions (second seed)", Strided),
)
NARROW = 8  # channels of a residual member: half of the narrowest model under repair


def _narrow(classes: int, picture: Shape) -> nn.Module:
    return ResNet18(classes, picture[2], NARROW)


IN_COLOR: tuple[Member, ...] = (  # on signs a perceptron and strided convolutions would be voters that guess
    ("LeNet", LeNet),
    ("narrow ResNet-18", _narrow),
    ("narrow ResNet-18 (second seed)", _narrow),
    ("LeNet (second seed)", LeNet),
    ("narrow ResNet-18 (third seed)", _narrow),
)
NAME = "committee of five networks"
BATCH_SIZE = 128


@dataclass(frozen=True)
class CommitteeTraining:
    """The pictures that the committee learns from, for how long, and where its parts are kept."""

    data: DataSet
    rows: Ints  # of the training split, without those of validation
    epochs: int
    seed: int
    parts: Path
    none_below: float


def members_for(picture: Shape) -> tuple[Member, ...]:
    return MEMBERS if picture[2] == 1 else IN_COLOR


def committee_votes(
    training: CommitteeTraining, pictures: Sequence[Pictures], progress: Progress
) -> list[Ints]:
    """For each stack of pictures the votes (n, 5): class numbers, or NONE where a member is unsure.

    Members are trained one after the other; one that has voted on these pictures is not trained again.
    """
    shares = [_member(training, number, pictures, progress) for number in range(len(MEMBERS))]
    return [
        np.stack([_votes(each[k], training.none_below) for each in shares], axis=1)
        for k in range(len(pictures))
    ]


def _votes(shares: Floats, none_below: float) -> Ints:
    return np.where(shares.max(axis=1, initial=0.0) < none_below, NONE, shares.argmax(axis=1))


def _member(
    training: CommitteeTraining, number: int, pictures: Sequence[Pictures], progress: Progress
) -> list[Floats]:
    """A member's probabilities of each stack of pictures."""
    path = training.parts / f"member-{number}.safetensors"
    if not path.exists():
        network = _trained(training, number, progress)
        write_arrays(path, {f"{k:03}": probabilities(network, stack) for k, stack in enumerate(pictures)})
    found = read_arrays(path)
    return [floats(found[f"{k:03}"]) for k in range(len(pictures))]


def _trained(training: CommitteeTraining, number: int, progress: Progress) -> nn.Module:
    name, kind = members_for(training.data.picture)[number]
    rows = training.rows[np.arange(len(training.rows)) % len(MEMBERS) != number]
    data = training.data.at(rows)
    settings = Settings(
        model=name,
        dataset=data.name,
        data=hashlib.sha256(data.sha256.encode() + rows.tobytes()).hexdigest(),
        classes=data.names,
        seed=training.seed + number,
        epochs=training.epochs,
        batch_size=min(BATCH_SIZE, len(rows)),
        device="cpu",
        threads=1,
    )

    def make() -> Training:
        network = placed(kind(len(data.names), data.picture), "cpu")
        optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
        return Training(
            {"model": network},
            {"optimizer": optimizer},
            classifier_step(network, optimizer, nll_loss, is_varied=members_for(data.picture) is IN_COLOR),
        )

    what = f"training member {number + 1} of {len(MEMBERS)}, steps"
    checkpoint = training.parts / f"member-{number}.checkpoint.safetensors"
    fitted = fit(make, data, settings, checkpoint, lambda _, done, total, *facts: progress(what, done, total))
    network = fitted.modules["model"]
    load_into(network, expand(compact(network)), checkpoint)
    return network
