"""Answered questions on pictures of a folder in CLEVR's layout, picture by picture."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from trex.datasets.clevr_folder import image_of
from trex.datasets.official_scenes import AskedQuestion, OfficialPicture, phrase_questions
from trex.foundation.errors import InputError, unknown
from trex.foundation.json_fields import field, mapping, text
from trex.scenes.clevr_format.json_files import read_items
from trex.scenes.clevr_format.scene_json import from_clevr
from trex.scenes.questions.program_json import program_from_json
from trex.scenes.questions.programs import Program
from trex.scenes.scene import Scene

QUESTIONS_FILE = re.compile(r"(?P<source>[^_]+)_(?P<split>.+)_questions\.json")
OFFICIAL, OURS = "CLEVR", "ours"
PHRASED_TRIES = 1  # per zero-hop and one-hop family and scene
PARITY_TRIES = 2  # the same, of the parity check


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
    asked: tuple[AskedQuestion, ...]


@dataclass(frozen=True)
class AskedFolder:
    """The pictures of a folder that have questions, sorted by name.

    `skipped` counts questions without an answer, a program or a picture here.
    """

    name: str
    pictures: tuple[AskedPicture, ...]
    skipped: int


def read_folder(folder: Path, options: QuestionOptions) -> AskedFolder:
    """The questions of a folder; InputError if it lacks a split, a file is damaged, or no question is usable.

    Questions of `CLEVR_*_questions.json` are CLEVR's own, unless `trex dataset render` has made the folder; every
    other file is a source of its own, named by the part before the split (CLOSURE_val_questions.json).
    """
    if options.limit is not None and options.limit < 1:
        raise InputError(f"--limit {options.limit} is not possible; give 1 or more")
    asked: dict[Path, list[AskedQuestion]] = {}
    skipped = 0
    for path in sorted((folder / "questions").glob("*.json")):
        for found in _questions(folder, path, options.splits):
            if found is None:
                skipped += 1
            else:
                asked.setdefault(found[0], []).append(found[1])
    if options.phrased:
        for image, question in _phrased(folder, options.splits):
            asked.setdefault(image, []).append(question)
    _check_splits(folder, options.splits)
    if not asked:
        raise InputError(
            f"{folder} holds no answered question on a picture; it needs questions/*_questions.json, images/SPLIT/*.png"
        )
    images = sorted(asked)[: options.limit]
    pictures = tuple(
        AskedPicture(path.stem, _split(folder, path), path, tuple(asked[path])) for path in images
    )
    return AskedFolder(folder.resolve().name, pictures, skipped)


def read_questions(data: Path, pictures: Sequence[OfficialPicture]) -> list[AskedQuestion]:
    """The published questions on these pictures, and phrased ones of every zero-hop and one-hop family."""
    names = {picture.name for picture in pictures}
    files = sorted((data / "questions").glob("*.json"))
    found = [found[1] for path in files for found in _questions(data, path, ()) if found is not None]
    named = [(picture.name, picture.scene) for picture in pictures]
    return [q for q in found if q.picture in names] + phrase_questions(named, PARITY_TRIES)


def _questions(
    folder: Path, path: Path, splits: tuple[str, ...]
) -> Iterator[tuple[Path, AskedQuestion] | None]:
    """The picture and the question of each record, None for an unusable one."""
    match = QUESTIONS_FILE.fullmatch(path.name)
    source, split = (match["source"], match["split"]) if match else (path.stem, "")
    if source == OFFICIAL and (folder / f"{split}.plan.json").exists():
        source = OURS
    for index, item in enumerate(read_items(path, "questions")):
        where = f"{path.name}: question {index}"
        record = mapping(item, where)
        image = folder.joinpath("images", *image_of(record, split, where))
        if splits and _split(folder, image) not in splits:
            continue
        if not {"answer", "program"} <= record.keys() or not image.is_file():
            yield None
            continue
        asked = text(field(record, "question", where), f"{where}, question")
        program, answer = _program(record["program"], where), _answer(record["answer"], where)
        yield image, AskedQuestion(image.stem, source, asked, program, answer)


def _program(found: object, where: str) -> Program:
    try:
        return program_from_json(found)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _answer(found: object, where: str) -> str:
    """The answer as CLEVR v1.0 writes it (yes, no, text), also from the public generator's true, false and numbers."""
    if isinstance(found, bool):
        return "yes" if found else "no"
    return str(found) if isinstance(found, int) else text(found, f"{where}, answer")


def _phrased(folder: Path, splits: tuple[str, ...]) -> Iterator[tuple[Path, AskedQuestion]]:
    """Questions of all zero-hop and one-hop families, phrased from the scenes; the source is the kind of family."""
    scenes: dict[Path, Scene] = {}
    for path in sorted((folder / "scenes").glob("*.json")):
        for index, item in enumerate(read_items(path, "scenes")):
            where = f"{path.name}: scene {index}"
            image = folder.joinpath("images", *image_of(mapping(item, where), "", where))
            if image.is_file() and (not splits or _split(folder, image) in splits):
                scenes[image] = from_clevr(item, where=where)
    images = {str(image): image for image in scenes}
    by_name = [(str(image), scene) for image, scene in sorted(scenes.items())]
    for question in phrase_questions(by_name, PHRASED_TRIES, by_kind=True):
        yield images[question.picture], question


def _check_splits(folder: Path, splits: tuple[str, ...]) -> None:
    there = sorted(path.name for path in (folder / "images").glob("*") if path.is_dir())
    for split in splits:
        if split not in there:
            raise unknown("split", split, there)


def _split(folder: Path, image: Path) -> str:
    parts = image.relative_to(folder / "images").parts
    return parts[0] if len(parts) == 2 else ""
