"""The votes that stand: each checked against the pictures, the labels and the votes before it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from trex.foundation.errors import InputError, unknown
from trex.foundation.json_fields import short
from trex.labelling.annotator import check_pseudonym
from trex.labelling.survey import Survey
from trex.repair.records import Record
from trex.repair.votes_file import MAX_ANNOTATORS


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
        """The labels that an annotator has given."""
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
