"""How alike official and re-rendered pictures are, and the answers on both, with intervals over pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.datasets.official_scenes import AskedQuestion
from trex.inference.statistics.clustered import clustered_interval, paired_difference
from trex.render.similarity import Pixels, mean_ssim, shrink
from trex.scenes.questions.answers import is_same

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

    questions: tuple[AskedQuestion, ...]
    official: tuple[str, ...]
    rendered: tuple[str, ...]


class ParityShare(NamedTuple):
    """A share or a difference of shares, with its 95% interval; the questions about a picture are a cluster."""

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
    sources = sorted({q.source for picture in pictures for q in picture.questions})
    return [_row(model, preset, source, pictures) for source in (ALL, *sources)]


def _row(model: str, preset: str, source: str, pictures: Sequence[PictureAnswers]) -> PresetParity:
    # (questions, 3): right on the official picture, right on ours, equal answers; by picture
    by_picture = [rows for picture in pictures if len(rows := _outcomes(picture, source))]
    every = np.concatenate(by_picture)
    official, rendered, equal = (_share([rows[:, k] for rows in by_picture]) for k in range(3))
    clusters = [at for at, rows in enumerate(by_picture) for _ in rows]
    interval = paired_difference(every[:, 1], every[:, 0], clusters)
    difference = ParityShare(rendered.value - official.value, *interval)
    number = len(every)
    return PresetParity(model, preset, source, number, len(by_picture), official, rendered, difference, equal)


def _outcomes(picture: PictureAnswers, source: str) -> NDArray[np.bool_]:
    """(questions, 3) of a source on a picture: right on the official one, right on ours, equal answers."""
    rows = [
        (is_same(official, question.answer), is_same(rendered, question.answer), official == rendered)
        for question, official, rendered in zip(*picture, strict=True)
        if source in (ALL, question.source)
    ]
    return np.array(rows, dtype=np.bool_).reshape(-1, 3)


def _share(by_picture: Sequence[NDArray[np.bool_]]) -> ParityShare:
    hits, sizes = [int(rows.sum()) for rows in by_picture], [len(rows) for rows in by_picture]
    return ParityShare(sum(hits) / sum(sizes), *clustered_interval(hits, sizes))
