"""The two polls: pictures of a repair, and a baseline's mistakes (is the picture's label wrong, or the model?).

Annotators of mistakes see a picture with its label and never the model's answer; their votes lie in the baseline's
folder `marks`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from os import close
from pathlib import Path

from trex.foundation.errors import InputError, RunError
from trex.foundation.files import make_folder, read_bytes, read_text
from trex.foundation.locked_folder import lock_folder
from trex.foundation.words import quoted
from trex.labelling.survey import Choice, Shown, Survey, class_choices
from trex.labelling.votes import Vote, VoteLog, stored_tally
from trex.pages.thumbnails import picture_of
from trex.repair.files import Done, file_sha256, read_fields, read_record
from trex.repair.folder import DONE, MANIFEST
from trex.repair.settings import SceneQuery
from trex.repair.steps import Folder
from trex.repair.votes_file import LIMIT, read_cast
from trex.trials.baseline.baseline import Baseline, ScoredExample, consensus
from trex.trials.baseline.files import AGAIN, FILE, MARKS_FOLDER, PICTURES, StoredBaseline, read_stored

DISTILLED = "distill.json"  # of the step before, which names the classes
PNG = ".png"
EXAMPLES = "examples"  # the folder of a picture of each class, named by its number
CHOICES = (
    Choice("mislabelled", "The label is wrong", "w"),
    Choice("mistake", "The label is right", "r"),
    Choice("unclear", "I cannot tell", "c"),
)
DIGITS = 12  # of a mistake's name
Key = tuple[str, str, str, str | None]  # (source, picture, question, label)


def is_repair(folder: Path) -> bool:
    """Whether the folder is a repair's, rather than a baseline's."""
    return (folder / MANIFEST).is_file()


def read_shown(folder: Folder) -> Shown:
    """What a repair shows; RunError if its pictures are not drawn yet, or were changed, InputError if it has none."""
    if isinstance(folder.query, SceneQuery):
        raise of_known_truth(folder)
    place = folder.require("pictures")
    files = {
        name.removesuffix(PNG): read_bytes(place / name, error=RunError, follow_links=False)
        for name in sorted(read_record(Done, place / DONE).files)
        if name.endswith(PNG)
    }
    pictures = {name: png for name, png in files.items() if "/" not in name}
    classes = _classes(folder)
    named = {name: f"{EXAMPLES}/{number:03}" for number, name in enumerate(classes)}
    digest = file_sha256(place / DONE)
    key = sha256(f"order {folder.query.seed} {digest}".encode()).hexdigest()
    survey = Survey(
        question="What does the picture show?",
        task="say what it shows",
        subject="this repair",
        choices=class_choices(classes),
        folder=folder.path,
        count=f"trex repair label {quoted(folder.path)} --voters people",
    )
    examples = {name: files[place] for name, place in named.items() if place in files}
    return Shown(pictures, survey, digest, key, examples=examples)


def of_known_truth(folder: Folder) -> InputError:
    """The error for votes on rendered scenes."""
    return InputError(
        f"{folder.path} is a repair on rendered scenes, whose truth is known: nobody labels them; run: "
        f"trex repair label {quoted(folder.path)}"
    )


def _classes(folder: Folder) -> tuple[str, ...]:
    """The classes that the step before has recorded; read as plain fields, since its module loads torch."""
    path = folder.require("distill") / DISTILLED
    classes = (read_fields(path) or {}).get("classes")
    if not isinstance(classes, list):
        raise RunError(
            f"{path} names no classes; delete {path.parent} and run: trex repair distill {quoted(folder.path)}"
        )
    return tuple(map(str, classes))


@dataclass(frozen=True)
class Marking:
    """A baseline whose mistakes are marked: `keys` names each item of the poll by what it is about."""

    stored: StoredBaseline
    keys: Mapping[Key, str]
    shown: Shown

    @property
    def place(self) -> Path:
        return self.stored.folder / MARKS_FOLDER


@contextmanager
def marking(folder: Path) -> Iterator[Marking]:
    """The mistakes in a baseline's folder, which no other process marks meanwhile.

    InputError if the folder holds no baseline or no mistakes; RunError if another process marks it.
    """
    found = read_marking(folder)
    make_folder(found.place)
    lock = lock_folder(found.place, RunError(f"another process marks {folder}; wait for it or stop it"))
    try:
        yield found
    finally:
        close(lock)


def read_marking(folder: Path) -> Marking:
    """The mistakes in a baseline's folder; InputError if it holds no baseline, or one without mistakes."""
    if not (folder / FILE).exists():
        raise InputError(
            f"there is no repair and no baseline in {folder}; make one: trex repair identify QUERY, or trex baseline "
            "QUERY --rendered 1000"
        )
    return marking_of(read_stored(folder))


def marking_of(stored: StoredBaseline) -> Marking:
    """The mistakes of a baseline that need not be written yet; InputError if it has none."""
    folder, keys = stored.folder, mistakes_of(stored.baselines)
    if not keys:
        raise InputError(f"{folder} counts no true mistake, so there is nothing to mark")
    urls = {(result.source, each.name): each.url for result in stored.results for each in result.thumbnails}
    missing = next((key for key in keys if key[:2] not in urls), None)
    if missing is not None:
        raise InputError(f"{folder / PICTURES} has no picture of {missing[1]!r}; {AGAIN}")
    digest = sha256(repr([(*key, urls[key[:2]]) for key in keys]).encode()).hexdigest()
    shown = Shown(
        pictures={name: _png(urls[key[:2]], folder) for key, name in keys.items()},
        survey=_survey(folder),
        digest=digest,
        key=sha256(f"marks {digest}".encode()).hexdigest(),
        captions={name: f"{question} Label: {label}" for (_, _, question, label), name in keys.items()},
    )
    return Marking(stored, keys, shown)


def mistakes_of(baselines: Sequence[Baseline]) -> Mapping[Key, str]:
    """Every true mistake under a name that tells nothing of it; one for queries that share question and label.

    No other mistake has its name, so that votes from a file are on no other picture than the one that was seen.
    """
    keys = dict.fromkeys(
        _key(baseline, row) for baseline in baselines for row in baseline.seen if row.is_mistake
    )
    return {key: f"m{sha256(repr(key).encode()).hexdigest()[:DIGITS]}" for key in keys}


def write_marks(found: Marking) -> StoredBaseline:
    """Write the baseline's files again, each mistake with the mark by the votes that stand."""
    votes = stored_tally(found.place, found.shown).votes.values()
    marks = {name: consensus([cast[name] for cast in votes if name in cast]) for name in found.shown.pictures}

    def marked(baseline: Baseline, row: ScoredExample) -> ScoredExample:
        return replace(row, mark=marks[found.keys[_key(baseline, row)]]) if row.is_mistake else row

    done = found.stored.with_baselines(
        [
            replace(baseline, seen=tuple(marked(baseline, row) for row in baseline.seen))
            for baseline in found.stored.baselines
        ]
    )
    done.write()
    return done


def take_votes(found: Marking, path: Path) -> int:
    """Add the votes of a CSV file to the log, and say how many are new; those that it holds already are left out.

    InputError, before anything is written, for anything strange in the file, or a vote that contradicts the log.
    """
    shown = found.shown
    text = read_text(path, limit=LIMIT, error=InputError)
    cast = read_cast(text, path, tuple(shown.pictures), shown.survey.labels, shown.survey.subject)
    log = VoteLog(found.place, shown)
    try:
        new = [
            Vote(annotator=annotator, picture=picture, label=label)
            for (picture, annotator), label in cast.items()
            if log.tally.of(annotator).get(picture) != label
        ]
        for vote in new:
            log.tally.check(vote)
        for vote in new:
            log.append(vote)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    finally:
        log.close()
    return len(new)


def _key(baseline: Baseline, row: ScoredExample) -> Key:
    return baseline.source, row.name, baseline.question, row.truth


def _survey(folder: Path) -> Survey:
    return Survey(
        question="Does the picture show what its label says?",
        task="say whether its label is right",
        subject="this baseline",
        choices=CHOICES,
        folder=folder,
        count=f"trex label {quoted(folder)}",
    )


def _png(url: str, folder: Path) -> bytes:
    try:
        picture = picture_of(url)
    except ValueError as error:
        raise InputError(f"{folder / PICTURES} is damaged: {error}; {AGAIN}") from error
    buffer = io.BytesIO()
    picture.save(buffer, "png")
    return buffer.getvalue()
