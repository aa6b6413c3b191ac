"""Step 3: what voters say that each component shows, and which components are failure scenarios (Defuse, "label")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.files import read_text
from trex.inference.repair.votes import (
    MISSING,
    NONE,
    Verdict,
    agreements,
    chance_agreement,
    krippendorff,
    mean_and_error,
    picture_labels,
    right_share,
    verdict,
)
from trex.inference.rng import stream
from trex.inference.statistics.proportion import Proportion
from trex.mnist_models.pictures import DataSet
from trex.repair.arrays import Ints, write_arrays
from trex.repair.committee import NAME, CommitteeTraining, committee_votes, members_for
from trex.repair.distill import RESULT as DISTILLED
from trex.repair.distill import DistillResult, clustered
from trex.repair.folder import PARTS, RepairFolder
from trex.repair.identify import GROWN
from trex.repair.loaded import SINGLY, Loaded, Progress, validation_rows
from trex.repair.mistakes import read_mistakes
from trex.repair.pictures import ITEMS, NOT, Items, draw_pictures, read_items
from trex.repair.records import Fields, Record, read_record, write_record
from trex.repair.votes_file import LIMIT, Votes, joined, parse_votes

RESULT, TABLE, SINGLES = "label.json", "votes.safetensors", "singles.safetensors"
MAX_SINGLES = 10_000  # mistakes that a committee labels one by one, for a control of the correction
LEAST_RIGHT = 0.8  # of the hidden checks: an annotator below it is named
UNRELATED = 0.5  # of all votes on checks: below it the file is not of these pictures


class Voter(Record):
    """An annotator or member: right votes on hidden checks, and equal votes on pictures shown twice."""

    name: str
    right: int
    checks: int
    same: int
    repeats: int

    @property
    def is_doubtful(self) -> bool:
        """Whether less than 80 % of its checks are right."""
        return self.checks > 0 and self.right < LEAST_RIGHT * self.checks


class Agreement(Record):
    """The published measure: the mean share of voters who chose the majority's label, with its standard error."""

    pictures: int
    mean: float
    error: float


class Labelled(Record):
    """A component with its verdict; `label` is "" if the voters do not decide."""

    number: int
    pictures: int
    labelled: int
    disagree: int
    label: str
    pure: int
    is_scenario: bool

    @property
    def purity(self) -> Proportion:
        """The share of labelled pictures that carry the label."""
        return Proportion(self.pure, self.labelled)


class LabelResult(Record):
    """Who voted, how well they agree, and the verdict on every component."""

    who: str
    voters: list[Voter]
    without: list[str]
    none: int  # pictures that the voters reject
    undecided: int
    scenario: Agreement
    other: Agreement
    all: Agreement
    chance: float
    alpha: float | None
    components: list[Labelled]

    @property
    def scenarios(self) -> tuple[Labelled, ...]:
        """Those on which the voters disagree with the model."""
        return tuple(one for one in self.components if one.is_scenario)


@dataclass(frozen=True, eq=False)
class Ballot:
    """Items with the votes on them, the names of the classes, and who voted."""

    items: Items
    votes: Votes
    names: tuple[str, ...]
    who: str
    without: tuple[str, ...] = ()


def label_by_committee(folder: RepairFolder, loaded: Loaded, progress: Progress) -> None:
    """Carry out the step with a committee of five networks, or resume it."""
    items = read_items(draw_pictures(folder, loaded) / ITEMS)
    place = folder.begin("label", {"voters": "committee"})
    if place is None:
        return
    grown = read_mistakes(folder.require("identify") / GROWN)
    order = stream(folder.query.seed, SINGLY).permutation(clustered(folder.query, grown))
    singled = np.sort(order[:MAX_SINGLES])  # mistakes are stored by seed picture, some data sets by class
    stacks = [items.pictures, loaded.generator.decode(grown.codes[singled])]
    table, singly = committee_votes(training_of(folder, loaded.train, place / PARTS), stacks, progress)
    labels = picture_labels(singly)
    rows = np.flatnonzero(labels >= 0)
    write_arrays(place / SINGLES, {"rows": singled[rows], "labels": labels[rows]})
    votes = Votes(table, tuple(name for name, _ in members_for(loaded.train.picture)), "")
    _finish(folder, place, Ballot(items, votes, loaded.model.labels, NAME))


def label_by_files(
    folder: RepairFolder, loaded: Loaded, paths: Sequence[Path], without: tuple[str, ...]
) -> None:
    """Carry out the step with the votes in files; InputError before anything is written if they are not usable."""
    label_by_texts(folder, loaded, {path: read_text(path, limit=LIMIT) for path in paths}, without)


def label_by_texts(
    folder: RepairFolder, loaded: Loaded, texts: Mapping[Path, str], without: tuple[str, ...]
) -> None:
    """The same with the texts of CSV files, by the paths that their votes come from."""
    items = read_items(draw_pictures(folder, loaded) / ITEMS)
    each = {path: parse_votes(text, path, items.names, loaded.model.labels) for path, text in texts.items()}
    votes = _without(joined(each, items.names), without)
    for path, mine in each.items():
        kept = [k for k, name in enumerate(mine.annotators) if name not in without]
        _check_related(mine.table[:, kept], items, path)
    who = "one annotator" if len(votes.annotators) == 1 else f"{len(votes.annotators)} annotators"
    given: Fields = {"voters": "people", "votes": votes.sha256, "without": list(without)}
    place = folder.begin("label", given)
    if place is not None:
        _finish(folder, place, Ballot(items, votes, loaded.model.labels, who, without))


def training_of(folder: RepairFolder, data: DataSet, parts: Path) -> CommitteeTraining:
    """What the committee of a repair is trained on."""
    wanted = folder.query.label
    rows, _ = validation_rows(folder.query, data)
    return CommitteeTraining(data, rows, wanted.epochs, folder.query.seed, parts, wanted.none_below)


def _without(votes: Votes, without: tuple[str, ...]) -> Votes:
    strange = [name for name in without if name not in votes.annotators]
    if strange:
        raise InputError(f"--without {strange[0]!r}: the annotators are {', '.join(votes.annotators)}")
    kept = [k for k, name in enumerate(votes.annotators) if name not in without]
    if not kept:
        raise InputError("--without leaves out every annotator; leave one in")
    return Votes(votes.table[:, kept], tuple(votes.annotators[k] for k in kept), votes.sha256)


def _check_related(table: Ints, items: Items, path: Path) -> None:
    """InputError if most hidden checks are wrong, as they are if labels and pictures have been exchanged."""
    is_check = items.truth != NOT
    shares = right_share(table[is_check], items.truth[is_check])
    right, cast = sum(one.count for one in shares), sum(one.of for one in shares)
    if cast and right < UNRELATED * cast:
        raise InputError(
            f"{path}: only {right} of {cast} votes on real pictures of known class are right; its labels do not "
            "belong to these pictures (rows exchanged, or the pictures of another repair)"
        )


def _finish(folder: RepairFolder, place: Path, ballot: Ballot) -> None:
    distilled = read_record(DistillResult, folder.require("distill") / DISTILLED)
    write_arrays(place / TABLE, {"votes": ballot.votes.table})
    write_record(place / RESULT, count(ballot, [one.number for one in distilled.components]))
    folder.finish("label")


def count(ballot: Ballot, numbers: Sequence[int]) -> LabelResult:
    """The result of the votes for these components."""
    items, table = ballot.items, ballot.votes.table
    labels = picture_labels(table)
    is_drawn = (items.component != NOT) & (items.first == NOT)
    components = []
    for number in numbers:
        rows = is_drawn & (items.component == number)
        components.append(_labelled(number, verdict(labels[rows], items.answer[rows]), ballot.names))
    in_scenario = np.isin(items.component, [one.number for one in components if one.is_scenario])
    return LabelResult(
        who=ballot.who,
        voters=_voters(ballot.votes, items),
        without=list(ballot.without),
        none=int((labels[is_drawn] == NONE).sum()),
        undecided=int((labels[is_drawn] == MISSING).sum()),
        scenario=_agreement(table[is_drawn & in_scenario]),
        other=_agreement(table[is_drawn & ~in_scenario]),
        all=_agreement(table[is_drawn]),
        chance=chance_agreement(len(ballot.votes.annotators), len(ballot.names)),
        alpha=krippendorff(table[is_drawn]),
        components=components,
    )


def _labelled(number: int, found: Verdict, names: tuple[str, ...]) -> Labelled:
    return Labelled(
        number=number,
        pictures=found.pictures,
        labelled=found.labelled,
        disagree=found.disagree,
        label=names[found.label] if found.label >= 0 else "",
        pure=found.pure,
        is_scenario=found.is_scenario,
    )


def _voters(votes: Votes, items: Items) -> list[Voter]:
    is_check, again = items.truth != NOT, np.flatnonzero(items.first != NOT)
    shares = right_share(votes.table[is_check], items.truth[is_check])
    voters = []
    for k, (name, share) in enumerate(zip(votes.annotators, shares, strict=True)):
        one, other = votes.table[again, k], votes.table[items.first[again], k]
        both = (one != MISSING) & (other != MISSING)
        same = int((one[both] == other[both]).sum())
        voters.append(
            Voter(name=name, right=share.count, checks=share.of, same=same, repeats=int(both.sum()))
        )
    return voters


def _agreement(table: Ints) -> Agreement:
    shares = agreements(table)
    mean, error = mean_and_error(shares)
    return Agreement(pictures=len(shares), mean=mean, error=error)
