"""How new the mistakes are: their distances to the nearest training picture, beside those of real test pictures.

The paper shows ten scenario pictures beside their nearest neighbors and leaves the verdict to the eye (Slack et al.
2021, "novelty"). A decoding is smoother than a photograph, and so nearer to everything: the reconstructions of the same
test pictures are the comparison that the generator's blur does not decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from trex.inference.repair.nearest import nearest, share_farther
from trex.inference.rng import stream
from trex.mnist_models.pictures import DataSet
from trex.repair.arrays import Array, Floats, Ints, Pictures, floats, ints, pixels, read_arrays, write_arrays
from trex.repair.correction.correct import correct
from trex.repair.distill import MIXTURE, read_mixture
from trex.repair.folder import PARTS, RepairFolder
from trex.repair.identify import GROWN, HELD
from trex.repair.label import RESULT as LABELS
from trex.repair.label import LabelResult
from trex.repair.loaded import NOVEL, Loaded, Progress, answers, pictures_of
from trex.repair.mistakes import read_mistakes
from trex.repair.records import Record, read_record, write_record

RESULT, PAIRS = "novelty.json", "pairs.safetensors"
MAX_PICTURES = 1000  # pictures of a group
SHOWN = 10
BLOCK = 4096  # training pictures at a time: bounds the memory
SCENARIOS, FROM_TRAINING, FROM_TEST = "scenarios", "from training", "from test"
MISREAD, REAL, PLAIN = "misread", "test", "plain"
GROUPS = (SCENARIOS, FROM_TRAINING, FROM_TEST, PLAIN, MISREAD, REAL)


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


class NoveltyResult(Record):
    """The groups that have pictures, compared with all pictures of the training split; `shown` is that of the pairs."""

    training: int
    groups: list[Distances]
    shown: str

    def of(self, group: str) -> Distances | None:
        """A group, None if it has no pictures."""
        return next((one for one in self.groups if one.group == group), None)


def novelty(folder: RepairFolder, loaded: Loaded, progress: Progress) -> None:
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
        groups=[_distances(group, one, distances[REAL]) for group, one in distances.items()],
        shown=shown,
    )
    write_record(place / RESULT, result)
    folder.finish("novelty")


def correct_and_compare(folder: RepairFolder, loaded: Loaded, progress: Progress) -> None:
    """Carry out the correction and this step, or resume them."""
    correct(folder, loaded, progress)
    novelty(folder, loaded, progress)


def read_pairs(path: Path) -> list[tuple[Pictures, Pictures, float]]:
    """The pictures that are shown, each with its nearest training picture and the distance between them."""
    found = read_arrays(path)
    stacks = pixels(found["pictures"]), pixels(found["nearest"]), floats(found["distance"])
    return list(zip(*stacks, strict=True))


def _groups(folder: RepairFolder, loaded: Loaded) -> Iterator[tuple[str, Pictures]]:
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
    said = answers(loaded.model.module, pictures_of(test, np.arange(len(test.images))))
    misread = np.flatnonzero(said != test.labels)
    if len(misread):
        yield MISREAD, pictures_of(test, misread[_some(folder, 3, len(misread))])
    yield REAL, pictures_of(test, rows)


def _drawn(folder: RepairFolder) -> Floats:
    """Fresh codes (n, d) of all scenarios, equally many of each."""
    wanted, seed = folder.query.label, folder.query.seed
    scenarios = read_record(LabelResult, folder.require("label") / LABELS).scenarios
    mixture = read_mixture(folder.require("distill") / MIXTURE)
    codes = [
        mixture.draw(
            stream(seed, NOVEL, 4, one.number), one.number, wanted.tau, max(1, MAX_PICTURES // len(scenarios))
        )
        for one in scenarios
    ]
    return np.concatenate(codes) if codes else np.zeros((0, mixture.means.shape[1]))


def _some(folder: RepairFolder, key: int, n: int) -> Ints:
    """At most MAX_PICTURES of n rows, at random by seed."""
    return np.sort(stream(folder.query.seed, NOVEL, key).permutation(n)[:MAX_PICTURES])


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
