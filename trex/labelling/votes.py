"""The votes on a poll: which may be cast, which stand, and `votes.jsonl`, where each is synced before it is answered.

The first line of that file says which pictures the votes are on. Like the draws of a run, the lines have chained
checksums beside them (`votes.check`), so that a line that was changed, lost or doubled is noticed; a half-written last
line is cut off.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ValidationError

from trex.foundation.errors import InputError, RunError, unknown
from trex.foundation.fields import first_problem
from trex.foundation.files import is_disk_full, sync_folder
from trex.foundation.json_fields import short
from trex.foundation.parse import parse_json
from trex.labelling.survey import Shown, Survey
from trex.repair.files import Record
from trex.repair.votes_file import COLUMNS, MAX_ANNOTATORS
from trex.runs.checked_lines import CheckedLog, read_checked

PSEUDONYM = re.compile(r"[A-Za-z0-9_-]{1,32}")
VOTES = "votes.jsonl"
R = TypeVar("R", bound=Record)


def check_pseudonym(given: str) -> str:
    """The pseudonym; InputError if it is not allowed."""
    if PSEUDONYM.fullmatch(given) is None:
        raise InputError(
            f"pseudonym {short(given)} is not allowed; take 1 to 32 letters A to Z, digits, _ or -"
        )
    return given


class Vote(Record):
    """A vote of an annotator; label None takes back the last one, which is on this picture."""

    annotator: str
    picture: str
    label: str | None


class Tally:
    """The votes that stand, by annotator and picture, in the order in which they were cast."""

    def __init__(self, pictures: Collection[str], survey: Survey) -> None:
        self._pictures, self._survey = pictures, survey
        self._votes: dict[str, dict[str, str]] = {}

    @property
    def votes(self) -> Mapping[str, Mapping[str, str]]:
        """For each annotator the label of each picture; annotators without a vote are left out."""
        return {annotator: cast for annotator, cast in self._votes.items() if cast}

    def of(self, annotator: str) -> Mapping[str, str]:
        return self._votes.get(annotator, {})

    def last(self, annotator: str) -> str:
        """The picture of an annotator's last vote; "" if there is none."""
        return next(reversed(self._votes.get(annotator, {})), "")

    def check(self, vote: Vote) -> None:
        """InputError if the vote cannot follow those before it."""
        name = check_pseudonym(vote.annotator)
        if vote.picture not in self._pictures:
            raise InputError(f"picture {short(vote.picture)} is not one of {self._survey.subject}")
        if vote.label is None:
            self._check_undo(name, vote.picture)
        elif vote.label not in self._survey.labels:
            raise unknown("label", vote.label, self._survey.labels)
        elif vote.picture in self.of(name):
            raise InputError(
                f"{name} has already voted on picture {vote.picture}; undo that vote to change it"
            )
        elif name not in self._votes and len(self._votes) >= MAX_ANNOTATORS:
            raise InputError(f"{MAX_ANNOTATORS} annotators have voted, and no more are allowed")

    def take(self, vote: Vote) -> None:
        """Count a vote; InputError if it cannot follow those before it."""
        self.check(vote)
        cast = self._votes.setdefault(vote.annotator, {})
        if vote.label is None:
            del cast[vote.picture]
        else:
            cast[vote.picture] = vote.label

    def _check_undo(self, name: str, picture: str) -> None:
        last = self.last(name)
        if not last:
            raise InputError(f"{name} has no vote to undo")
        if picture != last:
            raise InputError(
                f"the last vote of {name} is not on picture {picture}; only the last one can be undone"
            )


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
        lines = [json.dumps(record.model_dump(mode="json"), sort_keys=True) + "\n" for record in records]
        try:
            self._log.append([line.encode() for line in lines])
        except OSError as error:
            why = "no space left on the disk" if is_disk_full(error) else f"{error.strerror or error}"
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
