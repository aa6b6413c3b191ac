"""Votes of people from CSV files with the columns picture, annotator, label; anything strange in one is an error."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from trex.foundation.errors import InputError, unknown
from trex.foundation.json_fields import short
from trex.inference.repair.votes import MISSING, NONE
from trex.repair.files import Ints

COLUMNS = ["picture", "annotator", "label"]
NONE_WORD = "none"
COMMITTEE, PEOPLE = "committee", "people"  # whose votes count, if they come from no file
LIMIT = 64 << 20
MAX_ANNOTATORS = 1000


class Votes(NamedTuple):
    """A table (n pictures, m annotators) of class numbers, NONE or MISSING; the annotators; the files' sha256."""

    table: Ints
    annotators: tuple[str, ...]
    sha256: str


def check_voters(voters: str) -> None:
    """Raise InputError unless these voters are known."""
    if voters not in (COMMITTEE, PEOPLE):
        raise unknown("kind of voters", voters, [COMMITTEE, PEOPLE], "Votes in a file count by --votes FILE.")


def parse_votes(text: str, path: Path, pictures: Sequence[str], classes: Sequence[str]) -> Votes:
    """The votes in CSV text from this path; `label` is a class, or "none" if the picture shows no class.

    InputError as `read_cast`.
    """
    labels = (*classes, NONE_WORD)
    cast = read_cast(text, path, pictures, labels, "this repair")
    names = tuple(dict.fromkeys(annotator for _, annotator in cast))
    table = np.full((len(pictures), len(names)), MISSING, np.int64)
    row, column = ({name: k for k, name in enumerate(texts)} for texts in (pictures, names))
    for (picture, annotator), label in cast.items():
        table[row[picture], column[annotator]] = NONE if label == NONE_WORD else labels.index(label)
    return Votes(table, names, hashlib.sha256(text.encode()).hexdigest())


def joined(votes: Mapping[Path, Votes], pictures: Sequence[str]) -> Votes:
    """The votes of several files together, one at least.

    InputError for an annotator who votes on a picture in two of them, and for too many annotators.
    """
    first, *others = votes.items()
    whole = first[1]
    for path, more in others:
        whole = _with(whole, more, path, pictures)
    if len(whole.annotators) > MAX_ANNOTATORS:
        raise InputError(
            f"the files hold votes of {len(whole.annotators)} annotators; there must be 1 to {MAX_ANNOTATORS}"
        )
    return whole


def _with(whole: Votes, more: Votes, path: Path, pictures: Sequence[str]) -> Votes:
    names = tuple(dict.fromkeys((*whole.annotators, *more.annotators)))
    table = np.full((len(pictures), len(names)), MISSING, np.int64)
    table[:, : len(whole.annotators)] = whole.table
    for name, column in zip(more.annotators, more.table.T, strict=True):
        mine, is_cast = table[:, names.index(name)], column != MISSING
        if twice := np.flatnonzero(is_cast & (mine != MISSING)).tolist():
            raise InputError(
                f"{path}: annotator {name!r} votes on picture {pictures[twice[0]]} in another file, too; keep one vote"
            )
        mine[is_cast] = column[is_cast]
    return Votes(table, names, hashlib.sha256(f"{whole.sha256}{more.sha256}".encode()).hexdigest())


def read_cast(
    text: str, path: Path, pictures: Sequence[str], labels: Sequence[str], subject: str
) -> Mapping[tuple[str, str], str]:
    """The label that each annotator gives to each picture (picture, annotator), from CSV text of this path.

    InputError for other columns, a picture that is not one of the `subject`, a label that is not known, an annotator
    who votes twice on a picture, or a file without votes.
    """
    try:
        rows = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise InputError(f"{path} is no CSV text ({error}); is a quotation mark left open?") from error
    if not rows or [name.strip() for name in rows[0]] != COLUMNS:
        raise InputError(
            f"{path} begins with {short(rows[0] if rows else '')}; its columns must be {','.join(COLUMNS)}"
        )
    known = set(pictures)
    cast: dict[tuple[str, str], str] = {}
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        where = f"{path}, line {number}"
        if len(row) != len(COLUMNS):
            raise InputError(f"{where}: {len(row)} values; there must be {len(COLUMNS)}: {','.join(COLUMNS)}")
        picture, annotator, label = (value.strip() for value in row)
        if picture not in known:
            raise InputError(
                f"{where}: picture {short(picture)} is not one of {subject} (such as {pictures[0]})"
            )
        if not annotator or not annotator.isprintable() or len(annotator) > 100:
            raise InputError(
                f"{where}: annotator {short(annotator)} is no name of 1 to 100 printable characters"
            )
        if label not in labels:
            raise InputError(f"{where}: {unknown('label', label, labels)}")
        if (picture, annotator) in cast:
            raise InputError(
                f"{where}: annotator {annotator!r} votes on picture {picture} a second time; keep one vote"
            )
        cast[picture, annotator] = label
    names = {annotator for _, annotator in cast}
    if not names or len(names) > MAX_ANNOTATORS:
        raise InputError(
            f"{path} holds votes of {len(names)} annotators; there must be 1 to {MAX_ANNOTATORS}"
        )
    return cast
