"""A query counted on pictures without a search: hits of its level set, true mistakes, accuracy, and people's marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from trex.foundation.fields import Number
from trex.foundation.words import counted
from trex.inference.statistics.proportion import Proportion, share
from trex.runs.manifest import Manifest
from trex.scenes.misreading import Misreading
from trex.scenes.questions.truth import NO_ANSWER, is_wrong

Mark = Literal["mislabelled", "mistake", "unclear"]
MARKS: tuple[Mark, ...] = get_args(Mark)


@dataclass(frozen=True)
class MarkCounts:
    """How many mistakes have each mark, and how many have none."""

    mislabelled: int
    mistake: int
    unclear: int
    unmarked: int

    @property
    def is_any(self) -> bool:
        """Whether anybody has marked a mistake."""
        return self.mislabelled + self.mistake + self.unclear > 0

    @property
    def words(self) -> str:
        """The counts in words."""
        return (
            f"{self.mislabelled} with a wrong label, {counted(self.mistake, 'real mistake')}, "
            f"{self.unclear} that nobody can tell, {self.unmarked} not marked"
        )


def count_marks(marks: Sequence[Mark | None]) -> MarkCounts:
    """The counts of the marks of mistakes, None for unmarked ones."""
    found = Counter(marks)
    return MarkCounts(found["mislabelled"], found["mistake"], found["unclear"], found[None])


def consensus(given: Sequence[str]) -> Mark | None:
    """The mark that more than half of the annotators give, "unclear" if none is; None if nobody gives one."""
    for mark in MARKS:
        if 2 * given.count(mark) > len(given):
            return mark
    return "unclear" if given else None


@dataclass(frozen=True)
class Misread:
    """The misreading that explains a mistake, in words too: "the small red metal cylinder is read as a cube"."""

    misreading: Misreading
    words: str


@dataclass(frozen=True)
class MistakeFamily:
    """True mistakes of one kind: a sentence, what speaks for its conditions ("" without any), and their pictures."""

    words: str
    evidence: str
    pictures: tuple[str, ...]


@dataclass(frozen=True)
class ScoredExample:
    """One picture: the model's answer with its probability, its confidence in the target, and the truth.

    `truth` is None if it is unknown, "no answer" if the question has none there. `in_world` says whether each
    object may occur in the query's world, None without a scene; it ignores the number of objects. `mark` is what
    people found of a mistake, None if nobody has looked; `misread` what explains it, None if nothing is known to.
    """

    name: str
    split: str
    answer: str
    probability: Number
    confidence: Number
    is_hit: bool
    truth: str | None
    is_mistake: bool
    in_world: bool | None
    mark: Mark | None = None
    misread: Misread | None = None

    @property
    def has_truth(self) -> bool:
        """Whether the model's answer can be right or wrong."""
        return is_wrong(self.answer, self.truth) is not None

    @property
    def is_right(self) -> bool:
        """Whether the model's answer is the true one."""
        return is_wrong(self.answer, self.truth) is False


@dataclass(frozen=True)
class ComparedRun:
    """The results of a run of the same query: distinct hits, true mistakes among them, renders spent.

    `mistakes` is None if it is not known which answers are wrong.
    """

    run: str
    ending: str
    found: int
    mistakes: int | None
    renders: int


@dataclass(frozen=True)
class Baseline:
    """A query's question, model, target and threshold on pictures that no search selected.

    `families` are those of the true mistakes that were traced, `traced` in number; `untraced` says why others could
    not be, "" if all could.
    """

    query: str  # the path of the query's file
    question: str
    target: str  # in words, threshold included
    model: str
    model_hash: str
    world: str
    source: str
    answers: tuple[str, ...]  # those that the target names
    seen: tuple[ScoredExample, ...] = ()
    beside: tuple[ComparedRun, ...] = ()
    preset: str = ""  # of rendered scenes, one noise draw each; a data folder has none
    traced: int = 0
    untraced: str = ""
    families: tuple[MistakeFamily, ...] = ()
    goal: str = ""  # what a hit is, for people; "" in files of before

    @property
    def wanted(self) -> str:
        """What a hit is: "the model is sure of 2 (P(2) within 0.1 of 1)"."""
        return self.goal or self.target

    @property
    def examined(self) -> int:
        """The number of pictures examined."""
        return len(self.seen)

    @property
    def hits(self) -> Proportion:
        """Hits among all pictures."""
        return share(row.is_hit for row in self.seen)

    @property
    def mistakes(self) -> Proportion:
        """True mistakes among the pictures with a known true answer."""
        return share(row.is_mistake for row in self.seen if row.has_truth)

    @property
    def marks(self) -> MarkCounts:
        """What people found of the true mistakes."""
        return count_marks([row.mark for row in self.seen if row.is_mistake])

    @property
    def mistakes_well_labelled(self) -> Proportion:
        """The true mistakes again, without the pictures whose label people found wrong."""
        return share(row.is_mistake for row in self.seen if row.has_truth and row.mark != "mislabelled")

    @property
    def hits_inside(self) -> Proportion:
        """Hits among the pictures in the query's world, whatever their number of objects."""
        return share(row.is_hit for row in self.seen if row.in_world)

    @property
    def mistakes_inside(self) -> Proportion:
        """True mistakes among the pictures in the query's world with a known true answer."""
        return share(row.is_mistake for row in self.seen if row.in_world and row.has_truth)

    @property
    def accuracy(self) -> Proportion:
        """Right answers (the most probable one) among the pictures with a known true answer."""
        return share(row.is_right for row in self.seen if row.has_truth)

    @property
    def hits_without_scene(self) -> int:
        """The number of hits whose scene is not known."""
        return sum(row.is_hit and row.in_world is None for row in self.seen)

    @property
    def confusion(self) -> dict[str, dict[str, int]]:
        """Counts of the model's answers by true answer; only those that occur, in a natural order."""
        pairs = Counter((row.truth, row.answer) for row in self.seen if row.truth is not None)
        truths = in_order({truth for truth, _ in pairs if truth is not None})
        answers = in_order({answer for _, answer in pairs})
        return {truth: {answer: pairs[truth, answer] for answer in answers} for truth in truths}

    def differences(self, manifest: Manifest) -> tuple[str, ...]:
        """Why a run cannot be compared with this: another question, model, target, threshold, world or look."""
        render = manifest.query.render
        looks = (
            ("preset", render.preset, self.preset),
            ("render.noise", str(render.noise), "1"),
            ("render.views", str(render.views), "1"),
        )
        pairs = (
            ("question", manifest.facts.question, self.question),
            ("target", manifest.target.describe(), self.target),
            ("model", manifest.made.model, self.model_hash),
            ("world", manifest.world.scope(manifest.query), self.world),
            *(looks if self.preset else ()),
        )
        return tuple(f"its {what} is {run!r}, here {here!r}" for what, run, here in pairs if run != here)


def is_mistake(truth: str | None, answer: str, named: Sequence[str]) -> bool:
    """Whether a hit is a true mistake: the truth is none of the answers that the target names.

    For a target that names none (uniform), the model's most probable answer takes their place. If the truth is
    unknown, or the question has no answer, nothing is a mistake.
    """
    return all(is_wrong(name, truth) for name in named or (answer,))


def in_order(answers: set[str]) -> tuple[str, ...]:
    """Numbers by value, then words, "no answer" last."""
    return tuple(
        sorted(answers, key=lambda a: (a == NO_ANSWER, not a.isdigit(), int(a) if a.isdigit() else 0, a))
    )
