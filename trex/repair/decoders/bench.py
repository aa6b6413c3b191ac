"""What a classifier is tuned on and judged by: draws of scenarios, mistakes, and real pictures."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from trex.foundation.errors import InputError
from trex.inference.repair.mixture import GaussianMixture
from trex.inference.rng import stream
from trex.mnist_models.pictures import planes
from trex.mnist_models.training.classifiers import Extra, fine_tune_training
from trex.mnist_models.training.loop import Settings, fit
from trex.repair.decoders.distill import MIXTURE, read_mixture
from trex.repair.decoders.identify import GROWN as GROWN_FILE
from trex.repair.decoders.identify import HELD, clustered, read_mistakes
from trex.repair.decoders.label import SINGLES, VoteResult
from trex.repair.decoders.loaded import Folder, Loaded, Stream, answers, pictures_of, validation_rows
from trex.repair.domain import Plan, Right, Tuning
from trex.repair.files import Flags, Ints, Pictures, ints, read_arrays, write_arrays
from trex.repair.results import (
    CHOOSE,
    FIRST_HALF,
    FRESH,
    GROWN,
    PLAIN,
    RAW,
    REAL,
    RULES,
    SECOND_HALF,
    SINGLE,
    SWEEP,
    TEST,
    TRAINING,
    VALIDATION,
    Scenario,
)
from trex.repair.weights import load_stored, stored

TRAINING_JUDGED = 2000  # training pictures on which accuracy is taken
HALVED = (
    "signs",
    "svhn",
)  # whose published validation and test pictures are halves of the test split, at random


def tune(folder: Folder, loaded: Loaded) -> Tuning:
    """The scenarios that are pure enough; InputError if a batch is larger than the training pictures."""
    wanted = folder.query.correct
    found = folder.found("label", VoteResult)
    pure = [each for each in found.scenarios if each.purity.value >= wanted.purity]
    scenarios = [Scenario(number=each.number, label=each.label) for each in pure]
    learning, _ = validation_rows(folder.query, loaded.train)
    usable = min(wanted.training or len(learning), len(learning))
    if wanted.batch > usable:
        raise InputError(
            f"correct.batch = {wanted.batch} is more than the {usable} training pictures; take fewer"
        )
    impure = tuple(each.number for each in found.scenarios if each not in pure)
    return scenarios, impure, lambda progress: bench_of(folder, loaded, scenarios)


class Set(NamedTuple):
    """Pictures (n, H, W) or (n, H, W, C) and their labels (n,).

    `origins` (n,): the picture that each was grown from, if several can come from one.
    """

    pictures: Pictures
    labels: Ints
    origins: Ints | None = None


def bench_of(folder: Folder, loaded: Loaded, scenarios: Sequence[Scenario]) -> PictureBench:
    """The bench of a repair whose first three steps are finished."""
    rows, _ = validation_rows(folder.query, loaded.train)
    most = folder.query.correct.training or len(rows)
    chosen = np.sort(stream(folder.query.seed, Stream.SPLIT, 1).permutation(rows)[:most])
    return PictureBench(folder, loaded, read_mixture(folder.require("distill") / MIXTURE), scenarios, chosen)


@dataclass(frozen=True, eq=False)
class PictureBench:
    """Draws and pictures for these scenarios; `rows` are the training pictures D."""

    folder: Folder
    loaded: Loaded
    mixture: GaussianMixture
    scenarios: Sequence[Scenario]
    rows: Ints

    @property
    def plan(self) -> Plan:
        """Training pictures choose if the query says "printed", as in the paper's experiment on MNIST; only a committee
        has labelled mistakes one by one.
        """
        wanted, tests = self.folder.query.correct, RULES["decoders"].tests
        singles = self.folder.require("label") / SINGLES
        has_singles = singles.exists() and len(read_arrays(singles)["rows"]) > 0
        controls = (PLAIN, RAW, SINGLE) if has_singles else (PLAIN, RAW)
        choose_by, bound_by = (TRAINING, None) if wanted.select == "printed" else (CHOOSE, VALIDATION)
        return Plan(controls, tests, choose_by, bound_by, self.epoch_by)

    @property
    def epoch_by(self) -> str:
        wanted = self.folder.query.correct
        if wanted.epoch == "last":
            return ""
        return TRAINING if wanted.select == "printed" else VALIDATION

    def before(self) -> Right:
        return self.right(self.loaded.model.module)

    def right(self, network: nn.Module) -> Right:
        """With the halves of the test split, if its data set has been published by halves."""
        right = {name: answers(network, each.pictures) == each.labels for name, each in self.judged.items()}
        half = self.half()
        return (
            {**right, FIRST_HALF: right[TEST][half], SECOND_HALF: right[TEST][~half]} if half.any() else right
        )

    def clusters(self, test: str) -> Sequence[int] | None:
        origins = self.judged[test].origins
        return None if origins is None else origins.tolist()

    def tuned(self, kind: str, weight: float, seed: int, stem: Path) -> tuple[nn.Module, int | None]:
        """The network with the weights of the epoch that the query keeps, and that epoch."""
        wanted, loaded = self.folder.query.correct, self.loaded
        extra = self.drawn(Stream.TUNE, seed)
        if kind != SWEEP:
            extra = self.control(kind, len(extra.labels), seed)
        data = loaded.train.at(self.rows)
        digest = hashlib.sha256(extra.pictures.tobytes() + extra.labels.tobytes() + self.rows.tobytes())
        settings = Settings(
            model=f"{loaded.model.name} {stem.name}",
            dataset=data.name,
            data=digest.hexdigest(),
            classes=data.names,
            seed=self.folder.query.seed + seed,
            epochs=wanted.epochs,
            batch_size=wanted.batch,
            device="cpu",
            threads=1,
        )
        further = Extra(torch.from_numpy(planes(extra.pictures)), torch.from_numpy(extra.labels), weight)
        checkpoint = stem.with_name(f"{stem.name}.checkpoint.safetensors")
        epochs = Epochs(self.judged[self.epoch_by], stem) if self.epoch_by else None
        job = fit(
            lambda: fine_tune_training(loaded.model.module, further, wanted.rate),
            data,
            settings,
            checkpoint,
            on_epoch=epochs.keep if epochs is not None else None,
        )
        network = job.modules["model"]
        if epochs is not None:
            epochs.load(network, best := epochs.best(wanted.epochs))
            return network, best
        load_stored(network, stored(network), checkpoint)
        return network, wanted.epochs

    def card(self) -> dict[str, object]:
        loaded = self.loaded
        return {
            "kind": loaded.kind,
            "dataset": loaded.model.dataset,
            "labels": list(loaded.model.labels),
            "picture": list(loaded.model.picture),
            "licence": loaded.licence,
            "tuned_from": f"{loaded.model.name} {loaded.model.sha256}",
            "generator": f"{loaded.generator.name} {loaded.generator.sha256}",
        }

    def drawn(self, *key: int) -> Set:
        """Fresh pictures of every corrected scenario with its label, from this random stream."""
        wanted, seed = self.folder.query, self.folder.query.seed
        n = wanted.correct.pictures
        codes = [
            self.mixture.draw(stream(seed, *key, each.number), each.number, wanted.label.tau, n)
            for each in self.scenarios
        ]
        return Set(self.loaded.generator.decode(np.concatenate(codes)), np.repeat(self._labels, n))

    @cached_property
    def judged(self) -> Mapping[str, Set]:
        """The four tests (fresh draws, mistakes grown from test pictures, real pictures inside, the test split), and
        the sets that choose a weight.
        """
        train, test = self.loaded.train, self.loaded.test
        _, judging = validation_rows(self.folder.query, train)
        held = read_mistakes(self.folder.require("identify") / HELD)
        place = self._scenario_of(self.mixture.members(held.codes))
        grown = held.at(place >= 0)
        everything = np.arange(len(test.images))
        codes = self.loaded.generator.encode(pictures_of(test, everything)).mean
        inside = everything[self._scenario_of(self.mixture.inside(codes)) >= 0]
        return {
            FRESH: self.drawn(Stream.TEST),
            GROWN: Set(
                self.loaded.generator.decode(grown.codes), self._labels[place[place >= 0]], grown.rows
            ),
            REAL: Set(pictures_of(test, inside), test.labels[inside].astype(np.int64)),
            TEST: Set(pictures_of(test, everything), test.labels.astype(np.int64)),
            CHOOSE: self.drawn(Stream.CHOOSE),
            VALIDATION: Set(pictures_of(train, judging), train.labels[judging].astype(np.int64)),
            TRAINING: self._training(),
        }

    def half(self) -> Flags:
        """Which test pictures (n,) are of the first half, at random by seed; of another data set none."""
        n = len(self.loaded.test.images)
        order = stream(self.folder.query.seed, Stream.SPLIT, 2).permutation(n)
        return np.isin(np.arange(n), order[: n // 2]) & (self.loaded.test.name in HALVED)

    def control(self, kind: str, n: int, seed: int) -> Set:
        """`n` pictures of a control: decodings of unperturbed codes and mistakes, both labelled as their seeds, or
        mistakes that voters labelled one by one; drawn with replacement only if there are fewer. The mistakes are
        those that the components are made of.
        """
        found = read_mistakes(self.folder.require("identify") / GROWN_FILE)
        rng = stream(self.folder.query.seed, Stream.CONTROL, seed)
        if kind == PLAIN:
            rows = _some(rng, self.rows, n)
            codes = self.loaded.generator.encode(pictures_of(self.loaded.train, rows)).mean
            return Set(self.loaded.generator.decode(codes), self.loaded.train.labels[rows].astype(np.int64))
        if kind == RAW:
            rows = _some(rng, clustered(self.folder.query, found), n)
            return Set(self.loaded.generator.decode(found.codes[rows]), found.labels[rows])
        singles = read_arrays(self.folder.require("label") / SINGLES)
        place = _some(rng, np.arange(len(singles["rows"])), n)
        rows = ints(singles["rows"])[place]
        return Set(self.loaded.generator.decode(found.codes[rows]), ints(singles["labels"])[place])

    @property
    def _labels(self) -> Ints:
        return np.array([self.loaded.model.labels.index(each.label) for each in self.scenarios], np.int64)

    def _scenario_of(self, components: Ints) -> Ints:
        """The place of each component among the corrected scenarios; -1 for others."""
        place = {each.number: k for k, each in enumerate(self.scenarios)}
        return np.array([place.get(int(k), -1) for k in components], np.int64)

    def _training(self) -> Set:
        order = stream(self.folder.query.seed, Stream.SPLIT, 3).permutation(self.rows)
        rows = np.sort(order[:TRAINING_JUDGED])  # by class, some data sets are stored
        return Set(pictures_of(self.loaded.train, rows), self.loaded.train.labels[rows].astype(np.int64))


@dataclass(frozen=True, eq=False)
class Epochs:
    """The epochs of one training: a file for each, beginning with `stem`, and the pictures that judge them."""

    judging: Set
    stem: Path

    def keep(self, epoch: int, modules: Mapping[str, nn.Module]) -> None:
        """Write the weights of an epoch with its right answers, unless they are there."""
        path = self._path(epoch)
        if path.exists():
            return
        network = copy.deepcopy(modules["model"]).eval()
        load_stored(network, state := stored(network), path)
        right = int((answers(network, self.judging.pictures) == self.judging.labels).sum())
        write_arrays(path, {"right": np.array([right]), **state})

    def best(self, epochs: int) -> int:
        """The first epoch, from 1, with the most right answers."""
        right = [int(ints(read_arrays(self._path(epoch))["right"])[0]) for epoch in range(1, epochs + 1)]
        return 1 + int(np.argmax(right))

    def load(self, network: nn.Module, epoch: int) -> None:
        load_stored(network, read_arrays(self._path(epoch)), self._path(epoch))

    def _path(self, epoch: int) -> Path:
        return self.stem.with_name(f"{self.stem.name}.epoch-{epoch:04}.safetensors")


def _some(rng: np.random.Generator, rows: Ints, n: int) -> Ints:
    return rng.choice(rows, n, replace=n > len(rows))
