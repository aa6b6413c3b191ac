"""Answered questions on pictures of a folder in CLEVR's layout, picture by picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from trex.datasets.clevr_files import (
    QUESTIONS,
    SCENES,
    ClevrFiles,
    open_files,
    planned,
    readable_pixels,
    split_of,
)
from trex.datasets.examples import Remark, Tally
from trex.datasets.official_scenes import AskedQuestion, phrase_questions
from trex.foundation.errors import InputError
from trex.foundation.json_fields import field, short, text
from trex.scenes.clevr_format.scene_json import from_clevr
from trex.scenes.questions.answers import answer_of
from trex.scenes.questions.english import parse
from trex.scenes.questions.program_json import lacks_words, program_from_json
from trex.scenes.questions.programs import YES_NO, Program, possible_answers
from trex.scenes.scene import Scene

OFFICIAL, OURS = "CLEVR", "ours"
PHRASED_TRIES = 1  # per zero-hop and one-hop family and scene

UNANSWERED = Remark("question has no answer and is not asked", "questions have no answer and are not asked")
ODD = Remark(
    "question has an answer that is no word or number and is not asked",
    "questions have an answer that is no word or number and are not asked",
)
MISFIT = Remark(
    "question has an answer that it cannot have; every model's is counted as wrong",
    "questions have an answer that they cannot have; every model's is counted as wrong",
)
NO_PICTURE = Remark(
    "question is about a picture that is not there", "questions are about pictures that are not there"
)
NO_SPLIT = Remark(
    "file of questions is about a split without pictures here",
    "files of questions are about splits without pictures here",
)
UNREAD = Remark(
    "question has no program and is not read: its English has none of CLEVR's forms",
    "questions have no program and are not read: their English has none of CLEVR's forms",
)
ENGLISH = Remark(
    "question has no complete program and was read as English",
    "questions have no complete program and were read as English",
)
UNUSABLE = Remark("picture cannot be used and is left out", "pictures cannot be used and are left out")
SKIPPED = (UNANSWERED, ODD, NO_PICTURE, UNREAD)
CODES = {"1": "yes", "0": "no", "y": "yes", "n": "no", "t": "yes", "f": "no"}  # where yes or no is asked for


class QuestionOptions(NamedTuple):
    """The splits (all if none is given), a limit on pictures, and whether to phrase questions from scenes."""

    splits: tuple[str, ...] = ()
    limit: int | None = None
    phrased: bool = False


@dataclass(frozen=True)
class AskedPicture:
    """A picture file and its questions; `split` is its folder's."""

    name: str
    split: str
    path: Path
    questions: tuple[AskedQuestion, ...]

    @property
    def images(self) -> Path:
        """The folder images/ that it is in."""
        return self.path.parents[1] if self.split else self.path.parent


@dataclass(frozen=True)
class AskedFolder:
    """The pictures of a folder that have questions, sorted by name.

    `skipped` counts questions without an answer, a readable program or a picture here; `notes` say so in sentences.
    """

    name: str
    pictures: tuple[AskedPicture, ...]
    skipped: int
    notes: tuple[str, ...] = ()

    def read(self, tally: Tally) -> Iterator[tuple[AskedPicture, NDArray[np.uint8]]]:
        """Each picture with its pixels (H, W, 3); `tally` has those that cannot be used. InputError if none can."""
        left_out: list[str] = []
        for picture in self.pictures:
            pixels = readable_pixels(
                picture.path, picture.images, tally, lambda _, what: left_out.append(what)
            )
            if pixels is not None:
                yield picture, pixels
        for what in left_out:
            tally.add(UNUSABLE, what)
        if len(left_out) == len(self.pictures):
            raise InputError(f"no picture of {self.name} can be used; the first: {left_out[0]}")


def read_folder(folder: Path, options: QuestionOptions) -> AskedFolder:
    """The questions of a folder; InputError if it lacks a split, a file is damaged, or no question is usable.

    Questions of `CLEVR_*_questions.json` are CLEVR's own, unless `trex render dataset` has made the folder; every
    other file is a source of its own, named by the part before the split (CLOSURE_val_questions.json).
    """
    if options.limit is not None and options.limit < 1:
        raise InputError(f"--limit {options.limit} is not possible; give 1 or more")
    files, tally = open_files(folder, options.splits), Tally()
    request: dict[str, list[AskedQuestion]] = {}
    for name, question in _questions(files, tally):
        request.setdefault(name, []).append(question)
    if options.phrased:
        for name, question in _phrased(files):
            request.setdefault(name, []).append(question)
    if not request:
        raise InputError(f"{folder} holds no answered question on a picture: {_what_blocks(files, tally)}")
    pictures = tuple(
        AskedPicture(Path(name).stem, split_of(name), files.images / name, tuple(request[name]))
        for name in sorted(request)[: options.limit]
    )
    return AskedFolder(folder.resolve().name, pictures, tally.count(*SKIPPED), tally.sentences)


def _questions(files: ClevrFiles, tally: Tally) -> Iterator[tuple[str, AskedQuestion]]:
    """Each usable question with its picture; the others are counted."""
    ours = planned(files.folder)
    for entry in files.entries(QUESTIONS, _refuse, lambda where, _: tally.add(NO_SPLIT, where)):
        record, where, file = entry.record, entry.where, entry.file
        answer = _answer(record, where, tally)
        if not answer:
            continue
        if not entry.picture:
            tally.add(NO_PICTURE, where)
            continue
        request = text(field(record, "question", where), f"{where}, question")
        program = _program(record, request, where, tally)
        if program is not None:
            possible = possible_answers(program)
            answer = CODES.get(answer, answer) if possible == YES_NO else answer
            if answer not in possible:
                tally.add(MISFIT, f"{where}: {short(request)} is answered by {short(record.get('answer'))}")
            source = OURS if file.source == OFFICIAL and file.split in ours else file.source
            yield (
                entry.picture,
                AskedQuestion(files.label(entry.picture), source, request, program, answer),
            )


def _refuse(where: str, what: str) -> NoReturn:
    raise InputError(what if what.startswith(where) else f"{where}: {what}")


def _answer(record: Mapping[str, object], where: str, tally: Tally) -> str:
    """The true answer, "" if there is none that could be right."""
    try:
        answer = answer_of(record.get("answer"), f"{where}, answer")
    except InputError:
        tally.add(ODD, where)
        return ""
    if not answer:
        tally.add(UNANSWERED, where)
    return answer


def _program(record: Mapping[str, object], request: str, where: str, tally: Tally) -> Program | None:
    """The question's program; that of its English if it has none, or one without words; None if neither can be read."""
    given = record.get("program")
    try:
        if given and not lacks_words(given):
            return program_from_json(given)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    try:
        program = parse(request)
    except InputError as error:
        tally.add(UNREAD, f"{where}: {error}")
        return None
    tally.add(ENGLISH, where)
    return program


def _phrased(files: ClevrFiles) -> Iterator[tuple[str, AskedQuestion]]:
    """Questions of all zero-hop and one-hop families, phrased from the scenes; the source is the kind of family."""
    scenes: dict[str, Scene] = {}
    for entry in files.entries(SCENES, _refuse, lambda *_: None):
        if entry.picture and entry.picture not in scenes:
            scenes[entry.picture] = from_clevr(entry.record, where=entry.where)
    for question in phrase_questions(sorted(scenes.items()), PHRASED_TRIES, by_kind=True):
        yield question.picture, question


def _what_blocks(files: ClevrFiles, tally: Tally) -> str:
    there = [file.where for file in files.files(QUESTIONS)]
    if not there:
        return (
            "it has no file of questions; it needs questions/*.json, or a *questions*.json beside images/ "
            "(--phrased asks about its scenes instead)"
        )
    return "; ".join(tally.sentences) or f"{', '.join(there[:3])} holds none of the chosen splits"
