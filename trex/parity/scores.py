"""How alike official and re-rendered pictures are, and the answers on both, with intervals over pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.datasets.official_scenes import AskedQuestion
from trex.render.similarity import Pixels, mean_ssim, shrink

RESAMPLES = 4000
SEED = 28
ALL = "all"  # the source of a row for all questions


class Pair(NamedTuple):
    """A re-rendered picture and its similarity to the official one, at the smaller of the two sizes.

    `error` is the mean difference of a channel of a pixel, 0-255.
    """

    pixels: Pixels
    ssim: float
    error: float


def make_pair(official: Pixels, ours: Pixels) -> Pair:
    """Pair our picture with the official one."""
    like = shrink(official, ours)
    error = float(np.abs(like.astype(np.float64) - ours).mean())
    return Pair(ours, mean_ssim(like, ours), error)


class PictureAnswers(NamedTuple):
    """The questions on one picture and a model's answers, on the official picture and on ours."""

    asked: tuple[AskedQuestion, ...]
    official: tuple[str, ...]
    rendered: tuple[str, ...]


class ParityShare(NamedTuple):
    """A share or a difference of shares, with its 95 % interval; whole pictures are resampled."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PresetParity:
    """One row: a model on the questions of one source, at one preset."""

    model: str
    preset: str
    source: str
    questions: int
    pictures: int
    official: ParityShare  # accuracy on the official pictures
    rendered: ParityShare  # accuracy on ours
    difference: ParityShare  # rendered - official
    equal: ParityShare  # share of equal answers


def compare_answers(model: str, preset: str, pictures: Sequence[PictureAnswers]) -> list[PresetParity]:
    """A row for all questions, and one for each source of questions."""
    sources = sorted({q.source for picture in pictures for q in picture.asked})
    return [_row(model, preset, source, pictures) for source in (ALL, *sources)]


def _row(model: str, preset: str, source: str, pictures: Sequence[PictureAnswers]) -> PresetParity:
    counts = np.array([_counts(picture, source) for picture in pictures], dtype=np.float64)
    counts = counts[counts[:, 0] > 0]  # (pictures, 4): questions, right on official, right on ours, equal
    shares = _resampled(counts)
    columns = (shares[:, 0], shares[:, 1], shares[:, 1] - shares[:, 0], shares[:, 2])
    official, rendered, difference, equal = (_share(column) for column in columns)
    asked = int(counts[:, 0].sum())
    return PresetParity(model, preset, source, asked, len(counts), official, rendered, difference, equal)


def _counts(picture: PictureAnswers, source: str) -> tuple[int, int, int, int]:
    """The questions of a source on a picture, those right on the official one and on ours, and equal answers."""
    taken = [row for row in zip(*picture, strict=True) if source in (ALL, row[0].source)]
    rows = [
        (official == one.answer, rendered == one.answer, official == rendered)
        for one, official, rendered in taken
    ]
    right, right_rendered, equal = (sum(row[k] for row in rows) for k in range(3))
    return len(rows), right, right_rendered, equal


def _resampled(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(1 + RESAMPLES, 3) shares of the questions: as measured, then of pictures drawn with replacement."""
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(len(counts), size=(RESAMPLES, len(counts)))
    sums = np.concatenate([counts.sum(axis=0)[None], counts[drawn].sum(axis=1)])
    shares: NDArray[np.float64] = sums[:, 1:] / sums[:, :1]
    return shares


def _share(column: NDArray[np.float64]) -> ParityShare:
    low, high = np.quantile(column[1:], (0.025, 0.975))
    return ParityShare(float(column[0]), float(low), float(high))
