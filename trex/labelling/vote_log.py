"""`votes.jsonl` in the folder of a poll: every vote and undo as a line, synced to the disk before it is answered.

The first line says which pictures the votes are on. Like the draws of a run, the lines have chained checksums beside
them (`votes.check`), so that a line that was changed, lost or doubled is noticed; a half-written last line is cut off.
"""

from __future__ import annotations

import csv
import errno
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ValidationError

from trex.foundation.errors import InputError, RunError
from trex.foundation.fields import first_problem
from trex.foundation.files import sync_folder
from trex.foundation.parse import parse_json
from trex.labelling.shown import Shown
from trex.labelling.tally import Tally, Vote
from trex.repair.records import Record
from trex.repair.votes_file import COLUMNS
from trex.runs.checked_lines import CheckedLog, read_checked

VOTES = "votes.jsonl"
R = TypeVar("R", bound=Record)


class Head(Record):
    """The first line: the format, and the digest of the pictures that are voted on."""

    format: Literal[1] = 1
    pictures: str


class UnsavedVote(RunError):
    """A vote could not be written; those before it are kept."""


class VoteLog:
    """The votes of a poll, open for appending by one process; `tally` has those that stand."""

    def __init__(self, folder: Path, shown: Shown) -> None:
        self.path = folder / VOTES
        lines, self.tally = _read(self.path, shown)
        self._log = CheckedLog(self.path, lines)
        # Written with the first vote: a poll in which nobody has voted binds nobody to its pictures.
        self._head = None if lines else Head(pictures=shown.digest)
        if not lines:
            sync_folder(folder)

    def append(self, vote: Vote) -> None:
        """Write a vote, synced to the disk, and count it; InputError or UnsavedVote, and nothing is written."""
        self.tally.check(vote)
        if self._head is not None:
            self._append(self._head, vote)
            self._head = None
        else:
            self._append(vote)
        self.tally.take(vote)

    def close(self) -> None:
        """Close the files; the log cannot be used afterwards."""
        self._log.close()

    def _append(self, *records: Record) -> None:
        lines = [json.dumps(one.model_dump(mode="json"), sort_keys=True) + "\n" for one in records]
        try:
            self._log.append([line.encode() for line in lines])
        except OSError as error:
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = "no space left on the disk" if is_full else f"{error.strerror or error}"
            raise UnsavedVote(f"the vote was not saved: {why}; all votes before it are kept") from error


def read_tally(folder: Path, shown: Shown) -> Tally:
    """The votes that stand in the folder of a poll; InputError if nobody has voted yet."""
    tally = stored_tally(folder, shown)
    if not tally.votes:
        raise InputError(f"{folder / VOTES} holds no votes; people vote with: {shown.survey.serve}")
    return tally


def stored_tally(folder: Path, shown: Shown) -> Tally:
    """The votes that stand in the folder of a poll, if there are any."""
    _, tally = _read(folder / VOTES, shown)
    return tally


def votes_csv(tally: Tally) -> str:
    """The votes that stand as the text of a file for `--votes`."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for annotator, cast in tally.votes.items():
        rows.writerows((picture, annotator, label) for picture, label in cast.items())
    return text.getvalue()


def _read(path: Path, shown: Shown) -> tuple[Sequence[bytes], Tally]:
    """The whole lines of a log, and the votes that stand; RunError names the first damaged line."""
    found = read_checked(path)
    tally = Tally(shown.pictures, shown.survey)
    if found.lines:
        _check_head(path, found.lines[0], shown)
    for number, line in enumerate(found.lines[: found.sound][1:], start=2):
        try:
            tally.take(_parsed(Vote, line))
        except (InputError, RunError) as error:
            raise _damaged(path, number, str(error)) from error
    if found.sound < len(found.lines):
        raise _damaged(path, found.sound + 1, "this line or one before it was changed, lost or doubled")
    return found.lines, tally


def _check_head(path: Path, line: bytes, shown: Shown) -> None:
    try:
        head = _parsed(Head, line)
    except RunError as error:
        raise _damaged(path, 1, str(error)) from error
    if head.pictures != shown.digest:
        raise RunError(
            f"{path} holds votes on other pictures: {shown.survey.subject} was changed since; change it back, or move "
            "the file away to vote anew"
        )


def _parsed(model: type[R], line: bytes) -> R:
    try:
        return model.model_validate(parse_json(line, "the line", error=RunError))
    except ValidationError as error:
        key, message = first_problem(error)
        raise RunError(f"{key}: {message}") from error


def _damaged(path: Path, number: int, why: str) -> RunError:
    return RunError(
        f"{path}, line {number}: {why}; restore the file from a copy, or move it away to vote anew"
    )
