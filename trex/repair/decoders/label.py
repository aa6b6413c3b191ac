"""Step 3: what voters say that each component shows, and which components are failure scenarios (Defuse, "label")."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trex.foundation.errors import InputError
from trex.foundation.progress import Progress
from trex.foundation.words import capitalized, counted, percent, quoted
from trex.inference.repair.votes import (
    MISSING,
    NONE,
    LabelVerdict,
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
from trex.repair.decoders.committee import NAME, CommitteeTraining, committee_votes, members_for
from trex.repair.decoders.identify import GROWN, clustered, read_mistakes
from trex.repair.decoders.loaded import Folder, Loaded, Stream, validation_rows
from trex.repair.decoders.pictures import ITEMS, NOT, Items, read_items
from trex.repair.domain import Voters, Work
from trex.repair.files import Fields, Found, Ints, Record, write_arrays
from trex.repair.folder import PARTS
from trex.repair.results import DistillResult
from trex.repair.votes_file import Votes, joined, parse_votes

TABLE, SINGLES = "votes.safetensors", "singles.safetensors"
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
        """Whether less than 80% of its checks are right."""
        return self.checks > 0 and self.right < LEAST_RIGHT * self.checks


class Agreement(Record):
    """The published measure: the mean share of voters who chose the majority's label, with its standard error."""

    pictures: int
    mean: float
    error: float

    def __str__(self) -> str:
        return f"{percent(self.mean)} ± {100 * self.error:.1f}" if self.pictures else "-"


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


class VoteResult(Found):
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
        return tuple(each for each in self.components if each.is_scenario)

    @property
    def lines(self) -> list[str]:
        rows = [f"voters: {self.who}" + (f", without {', '.join(self.without)}" if self.without else "")]
        rows += [
            f"  {each.name}: {each.right} of {each.checks} real pictures right, {each.same} of {each.repeats} repeats "
            f"alike{'  <- below 80%' if each.is_doubtful else ''}"
            for each in self.voters
        ]
        rows += ["    group  label  disagree with the model   labeled  carry the label"]
        rows += [
            f"{each.number:>9}  {each.label or '-':>5}  {each.disagree:>23}  {each.labelled:>8}  {each.pure:>15}  "
            f"{'scenario' if each.is_scenario else ''}"
            for each in self.components
        ]
        return [*rows, self.agreement]

    @property
    def agreement(self) -> str:
        """How well the voters agree, beside chance."""
        alpha = "not defined" if self.alpha is None else f"{self.alpha:.2f}"
        return (
            f"Agreement with the majority: {self.scenario} in scenarios, {self.other} in others, {self.all} in all; "
            f"voters at random would agree to {percent(self.chance)}. Krippendorff's α, 1 for full agreement and 0 for "
            f"chance: {alpha}. {self.none} pictures show no class, {self.undecided} are undecided."
        )

    @property
    def sentences(self) -> list[str]:
        doubtful = [each.name for each in self.voters if each.is_doubtful]
        warning = f" Below 80% of hidden checks right: {', '.join(doubtful)}." if doubtful else ""
        people = "" if "annotator" in self.who else " No person has looked at these pictures."
        return [
            f"{capitalized(self.who)}: in {len(self.scenarios)} of {counted(len(self.components), 'group')} most "
            f"labels differ from the model's answers and one label leads. These are the failure scenarios."
            + people
            + warning
        ]


def judge(folder: Folder, loaded: Loaded, voters: Voters) -> tuple[Fields, Work]:
    """The step, with a committee of five networks or the votes of people; InputError for votes that are not usable."""
    items = read_items(folder.require("pictures") / ITEMS)
    return (
        _by_committee(folder, loaded, items)
        if voters.texts is None
        else _by_people(folder, loaded, items, voters)
    )


def _by_committee(folder: Folder, loaded: Loaded, items: Items) -> tuple[Fields, Work]:
    def carry_out(place: Path, progress: Progress) -> VoteResult:
        grown = read_mistakes(folder.require("identify") / GROWN)
        order = stream(folder.query.seed, Stream.SINGLY).permutation(clustered(folder.query, grown))
        singled = np.sort(order[:MAX_SINGLES])  # mistakes are stored by seed picture, some data sets by class
        stacks = [items.pictures, loaded.generator.decode(grown.codes[singled])]
        table, singly = committee_votes(training_of(folder, loaded.train, place / PARTS), stacks, progress)
        labels = picture_labels(singly)
        rows = np.flatnonzero(labels >= 0)
        write_arrays(place / SINGLES, {"rows": singled[rows], "labels": labels[rows]})
        votes = Votes(table, tuple(name for name, _ in members_for(loaded.train.picture)), "")
        return _counted(folder, place, items, votes, NAME)

    return {"voters": "committee"}, carry_out


def _by_people(folder: Folder, loaded: Loaded, items: Items, voters: Voters) -> tuple[Fields, Work]:
    texts, without = voters.texts or {}, voters.without
    each = {path: parse_votes(text, path, items.names, loaded.model.labels) for path, text in texts.items()}
    votes = _without(joined(each, items.names), without)
    for path, mine in each.items():
        kept = [k for k, name in enumerate(mine.annotators) if name not in without]
        names = [mine.annotators[k] for k in kept]
        _check_related(mine.table[:, kept], names, items, path, is_alone=len(votes.annotators) == 1)
    who = "one annotator" if len(votes.annotators) == 1 else f"{len(votes.annotators)} annotators"
    given: Fields = {"voters": "people", "votes": votes.sha256, "without": list(without)}
    return given, lambda place, progress: _counted(folder, place, items, votes, who, without)


def training_of(folder: Folder, data: DataSet, parts: Path) -> CommitteeTraining:
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


def _check_related(table: Ints, names: Sequence[str], items: Items, path: Path, *, is_alone: bool) -> None:
    """InputError if most hidden checks are wrong, as they are if labels and pictures have been exchanged.

    It names the annotator with most wrong ones, unless there is no other whose votes are left.
    """
    is_check = items.truth != NOT
    shares = right_share(table[is_check], items.truth[is_check])
    right, cast = sum(share.count for share in shares), sum(share.of for share in shares)
    if cast and right < UNRELATED * cast:
        name, share = max(zip(names, shares, strict=True), key=lambda each: each[1].of - each[1].count)
        one = f"; leave out who guessed: --without {quoted(name)} ({share.count} of {share.of} right)"
        raise InputError(
            f"{path}: only {right} of {cast} votes on real pictures of known class are right; its labels do not "
            "belong to these pictures (votes at random, rows exchanged, or the pictures of another repair)"
            + ("" if is_alone else one)
        )


def _counted(
    folder: Folder, place: Path, items: Items, votes: Votes, who: str, without: tuple[str, ...] = ()
) -> VoteResult:
    """The result of the votes, for each component."""
    distilled, table = folder.found("distill", DistillResult), votes.table
    names = distilled.classes
    write_arrays(place / TABLE, {"votes": table})
    labels = picture_labels(table)
    is_drawn = (items.component != NOT) & (items.first == NOT)
    components = []
    for number in (each.number for each in distilled.components):
        rows = is_drawn & (items.component == number)
        components.append(_labelled(number, verdict(labels[rows], items.answer[rows]), names))
    in_scenario = np.isin(items.component, [each.number for each in components if each.is_scenario])
    return VoteResult(
        who=who,
        voters=_voters(votes, items),
        without=list(without),
        none=int((labels[is_drawn] == NONE).sum()),
        undecided=int((labels[is_drawn] == MISSING).sum()),
        scenario=_agreement(table[is_drawn & in_scenario]),
        other=_agreement(table[is_drawn & ~in_scenario]),
        all=_agreement(table[is_drawn]),
        chance=chance_agreement(len(votes.annotators), len(names)),
        alpha=krippendorff(table[is_drawn]),
        components=components,
    )


def _labelled(number: int, found: LabelVerdict, names: tuple[str, ...]) -> Labelled:
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
        first, second = votes.table[items.first[again], k], votes.table[again, k]
        both = (first != MISSING) & (second != MISSING)
        same = int((first[both] == second[both]).sum())
        voters.append(
            Voter(name=name, right=share.count, checks=share.of, same=same, repeats=int(both.sum()))
        )
    return voters


def _agreement(table: Ints) -> Agreement:
    shares = agreements(table)
    mean, error = mean_and_error(shares)
    return Agreement(pictures=len(shares), mean=mean, error=error)
