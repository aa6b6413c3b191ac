"""How new the mistakes are: their distances to the nearest training picture, beside those of real test pictures.

The paper shows ten scenario pictures beside their nearest neighbors and leaves the verdict to the eye (Slack et al.
2021, "novelty"). A decoding is smoother than a photograph, and so nearer to everything: the reconstructions of the same
test pictures are the comparison that the generator's blur does not decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from trex.foundation.progress import Progress
from trex.foundation.words import percent
from trex.inference.repair.nearest import nearest, share_farther
from trex.inference.rng import stream
from trex.mnist_models.pictures import DataSet
from trex.repair.decoders.distill import MIXTURE, read_mixture
from trex.repair.decoders.identify import GROWN, HELD, read_mistakes
from trex.repair.decoders.label import VoteResult
from trex.repair.decoders.loaded import Folder, Loaded, Stream, answers, pictures_of
from trex.repair.files import (
    Array,
    Floats,
    Found,
    Ints,
    Pictures,
    Record,
    floats,
    ints,
    pixels,
    read_arrays,
    write_arrays,
)
from trex.repair.folder import PARTS

PAIRS = "pairs.safetensors"
MAX_PICTURES = 1000  # pictures of a group
SHOWN = 10
BLOCK = 4096  # training pictures at a time: bounds the memory
SCENARIOS, FROM_TRAINING, FROM_TEST = "scenarios", "from training", "from test"
MISREAD, REAL, PLAIN = "misread", "test", "plain"
NAMES = {
    SCENARIOS: "fresh draws of the scenarios",
    FROM_TRAINING: "mistakes grown from training pictures",
    FROM_TEST: "mistakes grown from test pictures",
    PLAIN: "reconstructions of test pictures",
    MISREAD: "test pictures that the model misreads",
    REAL: "test pictures",
}
GROUPS = tuple(NAMES)


class Distances(Record):
    """Euclidean distances of a group's pictures to the nearest training picture, in pixel values from 0 to 1.

    `copies` have distance 0. `farther`: the share of pairs in which a picture of the group is farther from its nearest
    training picture than a test picture is, ties counting half; 1/2 if they are alike.
    """

    group: str
    pictures: int
    lower: float  # quartile
    median: float
    upper: float
    copies: int
    farther: float


class NoveltyResult(Found):
    """The groups that have pictures, compared with all pictures of the training split; `shown` is that of the pairs."""

    training: int
    groups: list[Distances]
    shown: str

    def of(self, group: str) -> Distances | None:
        """A group, None if it has no pictures."""
        return next((each for each in self.groups if each.group == group), None)

    @property
    def lines(self) -> list[str]:
        head = f"{'distance to the nearest training picture':<44}pictures  median  quartiles      copies  farther"
        rows = [
            f"{NAMES[each.group]:<44}{each.pictures:>8}  {each.median:6.2f}  {each.lower:5.2f} to {each.upper:5.2f}"
            f"{each.copies:>8}  {percent(each.farther):>7}"
            for each in self.groups
        ]
        return [
            head,
            *rows,
            "farther: than the test pictures, in this share of pairs; 50% if they are alike",
        ]

    @property
    def sentences(self) -> list[str]:
        each = [found for group in GROUPS if (found := self.of(group)) is not None]
        medians = "; ".join(f"{NAMES[found.group]} {found.median:.2f}" for found in each)
        copies = sum(f.copies for f in each if f.group in (SCENARIOS, FROM_TRAINING, FROM_TEST))
        return [
            f"Median distance to the nearest of {self.training:,} training pictures: {medians}. "
            f"Copies of a training picture among the draws and mistakes: {copies}. A decoding is smooth: what the "
            f"noise adds shows beside {NAMES[PLAIN]}, not beside {NAMES[REAL]}."
        ]


def novelty(folder: Folder, loaded: Loaded, progress: Progress) -> None:
    """Carry out the step, or resume it; the components must be labelled."""
    place = folder.begin("novelty")
    if place is None:
        return
    what = "groups compared with the training pictures"
    parts: dict[str, Path] = {}
    for number, (group, pictures) in enumerate(_groups(folder, loaded)):
        progress(what, number, len(GROUPS))
        parts[group] = place / PARTS / f"{group}.safetensors"
        if not parts[group].exists():
            row, distance = nearest(_vectors(pictures), _blocks(loaded.train))
            write_arrays(parts[group], {"pictures": pictures, "row": row, "distance": distance})
    progress(what, len(GROUPS), len(GROUPS))
    distances = {group: floats(read_arrays(path)["distance"]) for group, path in parts.items()}
    shown = next(group for group in GROUPS if group in distances)
    _write_pairs(place / PAIRS, read_arrays(parts[shown]), loaded.train)
    result = NoveltyResult(
        training=len(loaded.train.images),
        groups=[_distances(group, each, distances[REAL]) for group, each in distances.items()],
        shown=shown,
    )
    folder.finish("novelty", result)


def read_pairs(path: Path) -> list[tuple[Pictures, Pictures, float]]:
    """The pictures that are shown, each with its nearest training picture and the distance between them."""
    found = read_arrays(path)
    stacks = pixels(found["pictures"]), pixels(found["nearest"]), floats(found["distance"])
    return list(zip(*stacks, strict=True))


def _groups(folder: Folder, loaded: Loaded) -> Iterator[tuple[str, Pictures]]:
    """At most MAX_PICTURES pictures of each group; no group without pictures."""
    decode, test = loaded.generator.decode, loaded.test
    drawn = _drawn(folder)
    if len(drawn):
        yield SCENARIOS, decode(drawn)
    identified = folder.require("identify")
    for number, (group, name) in enumerate(((FROM_TRAINING, GROWN), (FROM_TEST, HELD))):
        codes = read_mistakes(identified / name).codes
        if len(codes):
            yield group, decode(codes[_some(folder, number, len(codes))])
    rows = _some(folder, 2, len(test.images))
    yield PLAIN, decode(loaded.generator.encode(pictures_of(test, rows)).mean)
    given = answers(loaded.model.module, pictures_of(test, np.arange(len(test.images))))
    misread = np.flatnonzero(given != test.labels)
    if len(misread):
        yield MISREAD, pictures_of(test, misread[_some(folder, 3, len(misread))])
    yield REAL, pictures_of(test, rows)


def _drawn(folder: Folder) -> Floats:
    """Fresh codes (n, d) of all scenarios, equally many of each."""
    wanted, seed = folder.query.label, folder.query.seed
    scenarios = folder.found("label", VoteResult).scenarios
    mixture = read_mixture(folder.require("distill") / MIXTURE)
    codes = [
        mixture.draw(
            stream(seed, Stream.NOVEL, 4, each.number),
            each.number,
            wanted.tau,
            max(1, MAX_PICTURES // len(scenarios)),
        )
        for each in scenarios
    ]
    return np.concatenate(codes) if codes else np.zeros((0, mixture.means.shape[1]))


def _some(folder: Folder, key: int, n: int) -> Ints:
    """At most MAX_PICTURES of n rows, at random by seed."""
    return np.sort(stream(folder.query.seed, Stream.NOVEL, key).permutation(n)[:MAX_PICTURES])


def _vectors(pictures: Pictures) -> Floats:
    return floats(pictures.reshape(len(pictures), -1))


def _blocks(data: DataSet) -> Iterator[Floats]:
    """All pictures of a split as vectors, some at a time, with the values that `pictures_of` gives."""
    rows = np.arange(len(data.images))
    return (_vectors(pictures_of(data, rows[k : k + BLOCK])) for k in range(0, len(rows), BLOCK))


def _write_pairs(path: Path, part: Mapping[str, Array], train: DataSet) -> None:
    """SHOWN pictures of a group, evenly spaced in it, with their nearest training pictures."""
    distance = floats(part["distance"])
    some = np.unique(np.linspace(0, len(distance) - 1, SHOWN).round().astype(np.int64))
    nearest_rows = ints(part["row"])[some]
    arrays = {"pictures": part["pictures"][some], "nearest": pictures_of(train, nearest_rows)}
    write_arrays(path, {**arrays, "distance": distance[some]})


def _distances(group: str, distances: Floats, real: Floats) -> Distances:
    lower, median, upper = np.quantile(distances, (0.25, 0.5, 0.75)).tolist()
    return Distances(
        group=group,
        pictures=len(distances),
        lower=lower,
        median=median,
        upper=upper,
        copies=int((distances == 0.0).sum()),
        farther=share_farther(distances, real),
    )
