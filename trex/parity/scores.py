"""Statistics of the answers on official and re-rendered pictures, with intervals over pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.datasets.official_scenes import AskedQuestion

RESAMPLES = 4000
SEED = 28


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
    rows = [_row(model, preset, "all", pictures, lambda q: True)]
    return rows + [_row(model, preset, source, pictures, _is_from(source)) for source in sources]


def _is_from(source: str) -> Callable[[AskedQuestion], bool]:
    return lambda question: question.source == source


def _row(
    model: str,
    preset: str,
    source: str,
    pictures: Sequence[PictureAnswers],
    takes: Callable[[AskedQuestion], bool],
) -> PresetParity:
    counts = np.array([_counts(picture, takes) for picture in pictures], dtype=np.float64)
    counts = counts[counts[:, 0] > 0]  # (pictures, 4): questions, right on official, right on ours, equal
    shares = _resampled(counts)
    columns = (shares[:, 0], shares[:, 1], shares[:, 1] - shares[:, 0], shares[:, 2])
    official, rendered, difference, equal = (_share(column) for column in columns)
    asked = int(counts[:, 0].sum())
    return PresetParity(model, preset, source, asked, len(counts), official, rendered, difference, equal)


def _counts(picture: PictureAnswers, takes: Callable[[AskedQuestion], bool]) -> tuple[int, int, int, int]:
    kept = [row for row in zip(*picture, strict=True) if takes(row[0])]
    right_official = sum(official == question.answer for question, official, _ in kept)
    right_rendered = sum(rendered == question.answer for question, _, rendered in kept)
    return (
        len(kept),
        right_official,
        right_rendered,
        sum(official == rendered for _, official, rendered in kept),
    )


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
