"""What a model is tuned on and judged by: draws of scenarios, mistakes, and real pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trex.inference.repair.mixture import Mixture
from trex.inference.rng import stream
from trex.repair import loaded as streams
from trex.repair.arrays import Flags, Ints, Pictures, ints, read_arrays
from trex.repair.correction.results import (
    CHOOSE,
    FRESH,
    GROWN,
    PLAIN,
    RAW,
    REAL,
    SINGLE,
    TEST,
    TRAINING,
    VALIDATION,
    Corrected,
)
from trex.repair.distill import MIXTURE, clustered, read_mixture
from trex.repair.folder import RepairFolder
from trex.repair.identify import GROWN as GROWN_FILE
from trex.repair.identify import HELD
from trex.repair.label import SINGLES
from trex.repair.loaded import Loaded, pictures_of, validation_rows
from trex.repair.mistakes import read_mistakes

TRAINING_JUDGED = 2000  # training pictures on which accuracy is taken
HALVED = (
    "signs",
    "svhn",
)  # whose published validation and test pictures are halves of the test split, at random


class Set(NamedTuple):
    """Pictures (n, H, W) or (n, H, W, C) and their labels (n,).

    `origins` (n,): the picture that each was grown from, if several can come from one.
    """

    pictures: Pictures
    labels: Ints
    origins: Ints | None = None


@dataclass(frozen=True, eq=False)
class Sources:
    """The finished steps that sets are made of; `rows` are the training pictures D."""

    folder: RepairFolder
    loaded: Loaded
    mixture: Mixture
    corrected: tuple[Corrected, ...]
    rows: Ints

    def drawn(self, *key: int) -> Set:
        """Fresh pictures of every corrected scenario with its label, from this random stream."""
        wanted, seed = self.folder.query, self.folder.query.seed
        n = wanted.correct.pictures
        codes = [
            self.mixture.draw(stream(seed, *key, one.number), one.number, wanted.label.tau, n)
            for one in self.corrected
        ]
        return Set(self.loaded.generator.decode(np.concatenate(codes)), np.repeat(self._labels, n))

    def judged(self) -> dict[str, Set]:
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
            FRESH: self.drawn(streams.TEST),
            GROWN: Set(
                self.loaded.generator.decode(grown.codes), self._labels[place[place >= 0]], grown.rows
            ),
            REAL: Set(pictures_of(test, inside), test.labels[inside].astype(np.int64)),
            TEST: Set(pictures_of(test, everything), test.labels.astype(np.int64)),
            CHOOSE: self.drawn(streams.CHOOSE),
            VALIDATION: Set(pictures_of(train, judging), train.labels[judging].astype(np.int64)),
            TRAINING: self._training(),
        }

    def half(self) -> Flags:
        """Which test pictures (n,) are of the first half, at random by seed; of another data set none."""
        n = len(self.loaded.test.images)
        order = stream(self.folder.query.seed, streams.SPLIT, 2).permutation(n)
        return np.isin(np.arange(n), order[: n // 2]) & (self.loaded.test.name in HALVED)

    def control(self, kind: str, n: int, seed: int) -> Set:
        """`n` pictures of a control: decodings of unperturbed codes and mistakes, both labelled as their seeds, or
        mistakes that voters labelled one by one; drawn with replacement only if there are fewer. The mistakes are
        those that the components are made of.
        """
        found = read_mistakes(self.folder.require("identify") / GROWN_FILE)
        rng = stream(self.folder.query.seed, streams.CONTROL, seed)
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

    def has_control(self, kind: str) -> bool:
        """Whether there are pictures for this control: only a committee has labelled mistakes one by one."""
        path = self.folder.require("label") / SINGLES
        return kind != SINGLE or (path.exists() and len(read_arrays(path)["rows"]) > 0)

    @property
    def _labels(self) -> Ints:
        return np.array([self.loaded.model.labels.index(one.label) for one in self.corrected], np.int64)

    def _scenario_of(self, components: Ints) -> Ints:
        """The place of each component among the corrected scenarios; -1 for others."""
        place = {one.number: k for k, one in enumerate(self.corrected)}
        return np.array([place.get(int(one), -1) for one in components], np.int64)

    def _training(self) -> Set:
        order = stream(self.folder.query.seed, streams.SPLIT, 3).permutation(self.rows)
        rows = np.sort(order[:TRAINING_JUDGED])  # by class, some data sets are stored
        return Set(pictures_of(self.loaded.train, rows), self.loaded.train.labels[rows].astype(np.int64))


def sources(folder: RepairFolder, loaded: Loaded, corrected: tuple[Corrected, ...]) -> Sources:
    """The sets of a repair whose first three steps are finished."""
    rows, _ = validation_rows(folder.query, loaded.train)
    most = folder.query.correct.training or len(rows)
    chosen = np.sort(stream(folder.query.seed, streams.SPLIT, 1).permutation(rows)[:most])
    mixture = read_mixture(folder.require("distill") / MIXTURE)
    return Sources(folder, loaded, mixture, corrected, chosen)


def _some(rng: np.random.Generator, rows: Ints, n: int) -> Ints:
    return rng.choice(rows, n, replace=n > len(rows))
