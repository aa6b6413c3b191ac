"""What the steps work with: generator, model and labelled pictures, loaded and checked to fit together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path

import numpy as np
import torch
from torch import nn

from trex.artifacts.card import read_card
from trex.foundation.errors import InputError
from trex.inference.rng import stream
from trex.mnist_models.datasets import load_data
from trex.mnist_models.load import load_autoencoder, load_classifier, weights_path
from trex.mnist_models.models import Autoencoder, DigitClassifier
from trex.mnist_models.pictures import DataSet, planes, some_tracks, split_tracks
from trex.mnist_models.training.loop import placed
from trex.repair.files import Ints, Pictures, Sources
from trex.repair.folder import RepairFolder
from trex.repair.settings import DecoderQuery

Folder = RepairFolder[DecoderQuery]
BATCH = 250  # fixed: the rounding of a row may depend on the size of its batch


class Stream(IntEnum):
    """The purposes of random numbers: the first number of a stream's key."""

    IDENTIFY = 0
    HELD_OUT = 1
    COMPARE = 2
    CHOSEN = 3
    PICTURES = 4
    SHUFFLE = 5
    SPLIT = 6
    TUNE = 7
    CHOOSE = 8
    TEST = 9
    CONTROL = 10
    NOVEL = 11
    SINGLY = 12


@dataclass(frozen=True, eq=False)
class Loaded:
    """Generator, model under repair, and both splits of the data set that they were trained on."""

    generator: Autoencoder
    model: DigitClassifier
    train: DataSet
    test: DataSet
    kind: str  # of the model's network, as on its card
    licence: str = "not given"  # of the model's weights, as on its card

    @property
    def sources(self) -> Sources:
        """Names and hashes of all of it."""
        return Sources(
            generator=f"{self.generator.name} {self.generator.sha256}",
            model=f"{self.model.name} {self.model.sha256}",
            dataset=self.train.name,
            train=self.train.sha256,
            test=self.test.sha256,
        )


def load(query: DecoderQuery, data: Path | None) -> Loaded:
    """The models that a query names and their data; InputError if they do not fit together or are not there."""
    generator, model = load_autoencoder(query.generator.name), load_classifier(query.model.name)
    model = replace(model, module=placed(model.module, "cpu"))
    if generator.dataset != model.dataset or generator.labels != model.labels:
        raise InputError(
            f"model {model.name!r} knows {model.dataset} ({', '.join(model.labels)}), generator "
            f"{generator.name!r} draws {generator.dataset} ({', '.join(generator.labels)}); "
            "both have to know the same classes"
        )
    train, test = (load_data(model.dataset, split, data) for split in ("train", "test"))
    if train.names != model.labels:
        raise InputError(
            f"model {model.name!r} does not know every class of {model.dataset}; take one that does"
        )
    card = read_card(weights_path(query.model.name))
    loaded = Loaded(generator, model, train, test, str(card["kind"]), str(card.get("licence", "not given")))
    check_enough(query, loaded)
    return loaded


def check_enough(query: DecoderQuery, loaded: Loaded) -> Ints:
    """The training pictures that mistakes may grow from; InputError if there are fewer than the query asks for."""
    wanted = query.identify
    learning, _ = validation_rows(query, loaded.train)
    for what, count, there in (
        ("seeds", wanted.seeds, len(learning)),
        ("held_out", wanted.held_out, len(loaded.test.images)),
        ("compared", wanted.compared, len(learning)),
    ):
        if count > there:
            raise InputError(f"identify.{what} = {count}, and there are only {there} pictures; take fewer")
    return learning


def pictures_of(data: DataSet, rows: Ints) -> Pictures:
    """Pictures (n, H, W) or (n, H, W, C) of these rows in [0, 1], as classifiers see them."""
    return data.images[rows].astype(np.float32) / np.float32(255.0)


def answers(module: nn.Module, pictures: Pictures) -> Ints:
    """The most probable class (n,) of each picture, in either layout."""
    found: Ints = probabilities(module, pictures).argmax(axis=1)
    return found


def probabilities(module: nn.Module, pictures: Pictures) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Probabilities (n, K) of pictures, in either layout."""
    parts = []
    with torch.inference_mode():
        for start in range(0, len(pictures), BATCH):
            logits = module(torch.from_numpy(planes(pictures[start : start + BATCH])))
            parts.append(logits.double().softmax(dim=1).numpy())
    return np.concatenate(parts) if parts else np.zeros((0, 1))


def validation_rows(query: DecoderQuery, train: DataSet) -> tuple[Ints, Ints]:
    """Rows of the training split for learning, and those that only judge; InputError if either is empty.

    Of a data set with tracks, whole ones judge, and only such as no model has learned (`tracks.split_tracks`).
    """
    most, n = query.identify.validation, len(train.images)
    if train.groups is not None:
        split = split_tracks(train)
        if most > len(split.held_out):
            raise InputError(
                f"identify.validation = {most}, and {train.name} holds out {len(split.held_out)} pictures of tracks "
                "that no model learns; take fewer"
            )
        return split.learning, some_tracks(train, split.held_out, most, stream(query.seed, Stream.SPLIT))
    if most >= n:
        raise InputError(f"identify.validation = {most} leaves none of {n} training pictures; take fewer")
    order = stream(query.seed, Stream.SPLIT).permutation(n)
    return np.sort(order[most:]), np.sort(order[:most])
