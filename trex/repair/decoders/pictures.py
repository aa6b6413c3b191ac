"""What is voted on: pictures of each component, with hidden checks and repeats among them, in shuffled order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np

from trex.foundation.files import make_folder, write_atomic
from trex.inference.rng import stream
from trex.mnist_models.pictures import DataSet
from trex.repair.decoders.distill import MIXTURE, read_mixture
from trex.repair.decoders.loaded import Folder, Loaded, Stream, answers, pictures_of, validation_rows
from trex.repair.files import (
    Ints,
    Pictures,
    file_sha256,
    ints,
    pixels,
    read_arrays,
    write_arrays,
)
from trex.repair.folder import DONE
from trex.repair.results import DistillResult
from trex.runs.picture_files import to_png

ITEMS = "items.safetensors"
CHECKS, REPEATS = 0.10, 0.05  # of the pictures of components: real ones of known class, and some shown twice
NOT = -1
EXAMPLES, FEW = (
    "examples",
    10,
)  # the folder of a real picture of each class, if there are more classes than this


@dataclass(frozen=True, eq=False)
class Items:
    """N pictures (N, H, W) or (N, H, W, C) to vote on.

    `component` (N,): the mixture's number, NOT for a check. `truth`: the class of a check, NOT for others. `first`:
    for a repeat, the item that it repeats, else NOT. `answer`: the model's.
    """

    pictures: Pictures
    component: Ints
    truth: Ints
    first: Ints
    answer: Ints

    @property
    def names(self) -> tuple[str, ...]:
        """The file names without ending; they tell nothing about what a picture is."""
        return tuple(f"p{number:05}" for number in range(len(self.component)))


def read_items(path: Path) -> Items:
    found = read_arrays(path)
    numbers = (ints(found[name]) for name in ("component", "truth", "first", "answer"))
    return Items(pixels(found["pictures"]), *numbers)


def draw_pictures(folder: Folder, loaded: Loaded, place: Path) -> None:
    """Write the items and their PNG files into the step's folder."""
    items = _items(folder, loaded)
    if len(loaded.model.labels) > FEW:
        _write_examples(place / EXAMPLES, folder, loaded)
    for name, picture in zip(items.names, items.pictures, strict=True):
        if not (place / f"{name}.png").exists():
            write_atomic(place / f"{name}.png", png_of(picture), is_precious=False)
    write_arrays(place / ITEMS, vars(items))


def example_rows(data: DataSet, rows: Ints) -> dict[int, int]:
    """For each class among these rows the one whose neighboring pixels differ most in its inner half: a sharp one.

    Contrast, or the whole frame, would find dark signs before a bright sky.
    """
    height, width, _ = data.picture
    inner = data.images[rows, height // 4 : height - height // 4, width // 4 : width - width // 4].astype(
        float
    )
    steps = [np.abs(np.diff(inner, axis=axis)).reshape(len(rows), -1).mean(axis=1) for axis in (1, 2)]
    sharpness, labels = steps[0] + steps[1], data.labels[rows]
    best = {int(label): np.flatnonzero(labels == label) for label in np.unique(labels)}
    return {label: int(rows[among[sharpness[among].argmax()]]) for label, among in best.items()}


def _write_examples(place: Path, folder: Folder, loaded: Loaded) -> None:
    """A training picture of each class, for the page on which people vote."""
    make_folder(place)
    learning, _ = validation_rows(folder.query, loaded.train)
    for label, row in example_rows(loaded.train, learning).items():
        write_atomic(place / f"{label:03}.png", to_png(loaded.train.images[row]), is_precious=False)


def png_of(picture: Pictures) -> bytes:
    """A PNG file of a picture (H, W) or (H, W, C) in [0, 1]."""
    return to_png(np.round(picture * 255).astype(np.uint8))


def _drawn_from(distilled: Path, tau: float) -> int:
    """A number for these pictures: other ones are shuffled otherwise, so that votes on them fail the hidden checks."""
    return int(hashlib.sha256(f"{file_sha256(distilled / DONE)} {tau!r}".encode()).hexdigest()[:8], 16)


def _items(folder: Folder, loaded: Loaded) -> Items:
    wanted, seed = folder.query.label, folder.query.seed
    distilled = folder.require("distill")
    mixture = read_mixture(distilled / MIXTURE)
    numbers = [each.number for each in folder.found("distill", DistillResult).components]
    codes = [mixture.draw(stream(seed, Stream.PICTURES, k), k, wanted.tau, wanted.pictures) for k in numbers]
    drawn = loaded.generator.decode(np.concatenate(codes))
    rng = stream(seed, Stream.SHUFFLE)
    n_checks = min(ceil(CHECKS * len(drawn)), len(loaded.test.images))
    checks = rng.permutation(len(loaded.test.images))[:n_checks]
    repeats = rng.permutation(len(drawn))[: ceil(REPEATS * len(drawn))]
    of = np.concatenate([np.repeat(numbers, wanted.pictures), np.full(n_checks, NOT)])
    truth = np.concatenate([np.full(len(drawn), NOT), loaded.test.labels[checks].astype(np.int64)])
    shown = np.concatenate([drawn, pictures_of(loaded.test, checks)])
    row = np.concatenate([np.arange(len(shown)), repeats])  # of `shown`, for each item before shuffling
    order = stream(seed, Stream.SHUFFLE, _drawn_from(distilled, wanted.tau)).permutation(len(row))
    row, is_repeat = row[order], order >= len(shown)
    place = {int(k): item for item, k in enumerate(row) if not is_repeat[item]}
    first = np.array([place[int(k)] if again else NOT for k, again in zip(row, is_repeat, strict=True)])
    found = answers(loaded.model.module, shown)
    return Items(shown[row], of[row].astype(np.int64), truth[row], first.astype(np.int64), found[row])
