"""Runs the accuracy check: puts every question to a model, stores answers picture by picture, then counts."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.clevr_models.interface.bound import ClevrModel
from trex.clevr_models.interface.labels import bound_to
from trex.clevr_models.interface.question import Question
from trex.clevr_models.percept.evaluate import question_type
from trex.clevr_models.published import PUBLISHED, Published
from trex.datasets.clevr_questions import OFFICIAL, AskedFolder, AskedPicture, QuestionOptions, read_folder
from trex.datasets.examples import Tally
from trex.datasets.official_scenes import AskedQuestion
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError
from trex.foundation.files import make_folder
from trex.foundation.progress import Progress
from trex.runs.checked_lines import check_path
from trex.scenes.questions.answers import is_same
from trex.trials.accuracy import AccuracyCheck, AccuracyShare, checks_folder, share, short_hash, store_check
from trex.trials.lines import Lines
from trex.worlds.asking import answers_to
from trex.worlds.fingerprint import is_known_by_weights, probe_probabilities_of, weights_fingerprint

UNREAD = ""  # in place of an answer, if the model lacks a word of the question


@dataclass(frozen=True)
class LoggedAnswers:
    """The answers about a picture; `key` is the sha256 of the pixels, the questions and their true answers."""

    key: str
    answers: tuple[str, ...]


CODEC = Codec(LoggedAnswers)
Row = tuple[AskedPicture, LoggedAnswers]


def verify(
    model: ClevrModel,
    folder: Path,
    options: QuestionOptions,
    progress: Progress,
    published: float | None = None,
) -> AccuracyCheck:
    """Measure and store the accuracy, or resume it.

    Not stored for a model that its weights do not identify: reports of other models of its name would quote it.
    `published` replaces the known published accuracy of the model.
    """
    if published is not None and not 0 < published <= 1:
        raise InputError(
            f"--published {published} is not an accuracy; give a number above 0, at most 1, such as 0.936"
        )
    data_set = read_folder(folder, options)
    bound = bound_to(model, _readable(model, data_set))
    weights = weights_fingerprint(model.name, bound)
    what = "\n".join(
        [
            weights,
            repr(probe_probabilities_of(bound)),
            *(str(picture.path.resolve()) for picture in data_set.pictures),
        ]
    )
    # The model may be measured elsewhere in parallel.
    path = checks_folder() / f"{short_hash(what)}.answers.jsonl"
    tally = Tally()
    rows = _answer(model, path, data_set, tally, progress)
    check = replace(
        _checked(model.name, weights, data_set, rows, published),
        notes=(*data_set.notes, *tally.sentences),
    )
    if check.official and is_known_by_weights(bound):
        store_check(check)
    # The next measurement starts again: more than the weights may have changed.
    for file in (path, check_path(path)):
        file.unlink(missing_ok=True)
    return check


def _answer(
    model: ClevrModel, path: Path, folder: AskedFolder, tally: Tally, progress: Progress
) -> list[Row]:
    """Write each picture's answers to a log at once, so that a killed measurement resumes there."""
    make_folder(path.parent)
    rows: list[Row] = []
    with Lines(path, CODEC) as log:
        known = {answered.key: answered for answered in log.values}
        for picture, pixels in folder.read(tally):
            key = _key(picture, pixels)
            if key not in known:
                known[key] = LoggedAnswers(key, ask(model, pixels, picture.questions))
                log.append([known[key]])
            rows.append((picture, known[key]))
            progress("pictures scored", len(rows), len(folder.pictures))
    return rows


def ask(model: ClevrModel, pixels: NDArray[np.uint8], questions: Sequence[AskedQuestion]) -> tuple[str, ...]:
    """The model's answers to all questions on a picture, UNREAD for those outside its vocabulary."""
    try:
        return answers_to(model, pixels, questions)
    except InputError:
        if len(questions) == 1:
            return (UNREAD,)
        return tuple(answer for question in questions for answer in ask(model, pixels, [question]))


def _readable(model: ClevrModel, folder: AskedFolder) -> Question:
    """The first question that the model can read; InputError if there is none."""
    first: InputError | None = None
    for picture in folder.pictures:
        for q in picture.questions:
            question = Question(q.text, q.program)
            try:
                bound_to(model, question)
            except InputError as error:
                first = first or error
            else:
                return question
    raise InputError(f"{model.name} can read none of the questions: {first}")


def _key(picture: AskedPicture, pixels: NDArray[np.uint8]) -> str:
    request = [(q.source, q.text, q.answer, q.program) for q in picture.questions]
    digest = hashlib.sha256(json.dumps(request).encode())
    digest.update(repr(pixels.shape).encode() + pixels.tobytes())
    return digest.hexdigest()


def _checked(
    name: str, weights: str, folder: AskedFolder, rows: Sequence[Row], published: float | None
) -> AccuracyCheck:
    sources = {q.source for picture, _ in rows for q in picture.questions}
    by_source = {source: by_type(rows, source) for source in sorted(sources)}
    splits = Counter(picture.split for picture, _ in rows for q in picture.questions if q.source == OFFICIAL)
    known = PUBLISHED.get(name)
    if published is not None:
        known = Published(published, "given by --published")
    return AccuracyCheck(
        model=name,
        weights=weights,
        dataset=folder.name,
        data=hashlib.sha256("".join(sorted(answered.key for _, answered in rows)).encode()).hexdigest(),
        splits=dict(splits),
        official=by_source.pop(OFFICIAL, {}),
        others=by_source,
        unread=sum(answer == UNREAD for _, answered in rows for answer in answered.answers),
        skipped=folder.skipped
        + sum(len(picture.questions) for picture in folder.pictures)
        - sum(len(picture.questions) for picture, _ in rows),
        published=known.accuracy if known else None,
        source=known.source if known else "",
        note=known.note if known else "",
    )


def by_type(rows: Sequence[Row], source: str) -> dict[str, AccuracyShare]:
    """The share of right answers to the questions of a source: "all", then by type."""
    kinds: dict[str, list[list[bool]]] = {}  # by type: whether each answer is right, picture by picture
    for picture, answered in rows:
        right: dict[str, list[bool]] = {}
        for q, answer in zip(picture.questions, answered.answers, strict=True):
            if q.source == source:
                for name in ("all", question_type(q.program)):
                    right.setdefault(name, []).append(is_same(answer, q.answer))
        for name, answers in right.items():
            kinds.setdefault(name, []).append(answers)
    return {
        name: share((sum(answers), len(answers)) for answers in kinds[name])
        for name in ("all", *sorted(kinds.keys() - {"all"}))
    }
