"""Runs the accuracy check: puts every question to a model, stores answers picture by picture, then counts."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.interface.bound import ClevrModel
from trex.clevr_models.interface.labels import bound_to
from trex.clevr_models.interface.question import Question, question_of
from trex.clevr_models.percept.evaluate import question_type
from trex.clevr_models.published import PUBLISHED, Published
from trex.datasets.clevr_files import read_pixels
from trex.datasets.clevr_questions import OFFICIAL, AskedFolder, AskedPicture, QuestionOptions, read_folder
from trex.datasets.official_scenes import AskedQuestion
from trex.datasets.tally import Tally
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import disk_error, is_missing, make_folder, read_bytes
from trex.foundation.json_fields import listed
from trex.foundation.parse import parse_json
from trex.parity.accuracy_check import (
    AccuracyCheck,
    AccuracyShare,
    checks_folder,
    share,
    short_hash,
    store_check,
)
from trex.parity.parity import given
from trex.scenes.questions.answers import is_same
from trex.worlds.fingerprint import is_known_by_weights, probe_probabilities_of, weights_fingerprint

UNREAD = ""  # in place of an answer, if the model lacks a word of the question
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Answered:
    """A picture with the model's answers; `key` is the sha256 of the pixels, the questions and their true answers."""

    picture: AskedPicture
    answers: tuple[str, ...]
    key: str


def verify(
    model: ClevrModel,
    folder: Path,
    options: QuestionOptions,
    on_progress: OnProgress,
    published: float | None = None,
) -> AccuracyCheck:
    """Measure and store the accuracy, or resume it; `on_progress` receives (pictures done, pictures).

    Not stored for a model that its weights do not identify: reports of other models of its name would quote it.
    `published` replaces the known published accuracy of the model.
    """
    if published is not None and not 0 < published <= 1:
        raise InputError(
            f"--published {published} is not an accuracy; give a number above 0, at most 1, such as 0.936"
        )
    asked = read_folder(folder, options)
    bound = bound_to(model, _readable(model, asked))
    weights = weights_fingerprint(model.name, bound)
    what = "\n".join(
        [
            weights,
            repr(probe_probabilities_of(bound)),
            *(str(picture.path.resolve()) for picture in asked.pictures),
        ]
    )
    path = (
        checks_folder() / f"{short_hash(what)}.answers.jsonl"
    )  # the model may be measured elsewhere in parallel
    tally = Tally()
    rows = _answer(model, path, asked, tally, on_progress)
    check = replace(
        _checked(model.name, weights, asked, rows, published), notes=(*asked.notes, *tally.sentences)
    )
    if check.official and is_known_by_weights(bound):
        store_check(check)
    path.unlink(missing_ok=True)  # the next measurement starts again: more than the weights may have changed
    return check


def _answer(
    model: ClevrModel, path: Path, asked: AskedFolder, tally: Tally, on_progress: OnProgress
) -> list[Answered]:
    """Write each picture's answers to a file at once, so that a killed measurement resumes there."""
    make_folder(path.parent)
    known, rows = _read(path), []
    try:
        with path.open("ab", buffering=0) as log:
            log.write(b"\n")  # ends a line that a kill has cut short
            for picture in asked.pictures:
                pixels = read_pixels(picture.path, picture.images, tally)
                key = _key(picture, pixels)
                answers = known.get(key)
                if answers is None or len(answers) != len(picture.asked):
                    answers = ask(model, pixels, picture.asked)
                    log.write(json.dumps([key, answers, _check(key, answers)]).encode() + b"\n")
                rows.append(Answered(picture, answers, key))
                on_progress(len(rows), len(asked.pictures))
    except OSError as error:
        raise disk_error(error, path) from error
    return rows


def ask(model: ClevrModel, pixels: NDArray[np.uint8], asked: Sequence[AskedQuestion]) -> tuple[str, ...]:
    """The model's answers to all questions on a picture, UNREAD for those outside its vocabulary."""
    try:
        return given(model, pixels, asked)
    except InputError:
        if len(asked) == 1:
            return (UNREAD,)
        return tuple(answer for one in asked for answer in ask(model, pixels, [one]))


def _readable(model: ClevrModel, asked: AskedFolder) -> Question:
    """The first question that the model can read; InputError if there is none."""
    first: InputError | None = None
    for picture in asked.pictures:
        for one in picture.asked:
            question = question_of(one.text, one.program)
            try:
                bound_to(model, question)
            except InputError as error:
                first = first or error
            else:
                return question
    raise InputError(f"{model.name} can read none of the questions: {first}")


def _key(picture: AskedPicture, pixels: NDArray[np.uint8]) -> str:
    asked = [(q.source, q.text, q.answer, q.program) for q in picture.asked]
    digest = hashlib.sha256(json.dumps(asked).encode())
    digest.update(repr(pixels.shape).encode() + pixels.tobytes())
    return digest.hexdigest()


def _read(path: Path) -> dict[str, tuple[str, ...]]:
    """Answers by key; lines that are cut short or damaged are left out, and computed again."""
    try:
        return dict(_entries(read_bytes(path, error=RunError).split(b"\n")))
    except RunError as error:
        if is_missing(error):
            return {}
        raise


def _entries(lines: Sequence[bytes]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in lines:
        try:
            key, answers, check = listed(parse_json(line, "line"), "line")
        except (InputError, ValueError, TypeError):
            continue
        if not isinstance(key, str) or not isinstance(answers, list):
            continue
        if all(isinstance(a, str) for a in answers) and check == _check(key, answers):
            yield key, tuple(answers)


def _check(key: str, answers: Sequence[str]) -> str:
    """A checksum of a line, so that an altered answer is computed again."""
    return hashlib.sha256(json.dumps([key, list(answers)]).encode()).hexdigest()[:16]


def _checked(
    name: str, weights: str, asked: AskedFolder, rows: Sequence[Answered], published: float | None
) -> AccuracyCheck:
    sources = {q.source for row in rows for q in row.picture.asked}
    by_source = {source: by_type(rows, source) for source in sorted(sources)}
    splits = Counter(row.picture.split for row in rows for q in row.picture.asked if q.source == OFFICIAL)
    known = PUBLISHED.get(name)
    if published is not None:
        known = Published(published, "given by --published")
    return AccuracyCheck(
        model=name,
        weights=weights,
        dataset=asked.name,
        data=hashlib.sha256("".join(sorted(row.key for row in rows)).encode()).hexdigest(),
        splits=dict(splits),
        official=by_source.pop(OFFICIAL, {}),
        others=by_source,
        unread=sum(answer == UNREAD for row in rows for answer in row.answers),
        skipped=asked.skipped,
        published=known.accuracy if known else None,
        source=known.source if known else "",
        note=known.note if known else "",
    )


def by_type(rows: Sequence[Answered], source: str) -> dict[str, AccuracyShare]:
    """The share of right answers to the questions of a source: "all", then by type."""
    kinds: dict[str, list[list[bool]]] = {}  # by type: whether each answer is right, picture by picture
    for row in rows:
        right: dict[str, list[bool]] = {}
        for q, answer in zip(row.picture.asked, row.answers, strict=True):
            if q.source == source:
                for name in ("all", question_type(question_of(q.text, q.program).program)):
                    right.setdefault(name, []).append(is_same(answer, q.answer))
        for name, answers in right.items():
            kinds.setdefault(name, []).append(answers)
    return {
        name: share((sum(answers), len(answers)) for answers in kinds[name])
        for name in ("all", *sorted(kinds.keys() - {"all"}))
    }
