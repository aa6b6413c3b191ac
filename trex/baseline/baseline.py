"""What an unsearched set of pictures shows of a query: hits of its level set, true mistakes, accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trex.inference.statistics.proportion import Proportion
from trex.runs.manifest import Manifest
from trex.runs.world_of import world_of
from trex.scenes.questions.truth import NO_ANSWER
from trex.search.results import Results


@dataclass(frozen=True)
class ScoredExample:
    """One picture: the model's answer with its probability, how far it meets the target, and the truth.

    `truth` is None where nobody knows it, "no answer" where the question has none there. `in_world` says whether each
    object may occur in the query's world, None without a scene; how many objects there are is not asked.
    """

    name: str
    split: str
    answer: str
    probability: float
    confidence: float
    is_hit: bool
    truth: str | None
    is_mistake: bool
    in_world: bool | None

    @property
    def has_truth(self) -> bool:
        """Whether the model's answer can be right or wrong."""
        return self.truth not in (None, NO_ANSWER)


@dataclass(frozen=True)
class ComparedRun:
    """What a run of the same query found: distinct scenes, how many of them are true mistakes, renders spent."""

    run: str
    ending: str
    found: int
    mistakes: int
    renders: int


@dataclass(frozen=True)
class Baseline:
    """A query's question, model, target and threshold on pictures that nobody searched for."""

    query: str  # the query's file
    question: str
    target: str  # in words, threshold included
    answers: tuple[str, ...]  # that the target names
    model: str
    model_hash: str
    world: str
    source: str
    seen: tuple[ScoredExample, ...] = ()
    beside: tuple[ComparedRun, ...] = ()

    @property
    def examined(self) -> int:
        """Pictures that were looked at."""
        return len(self.seen)

    @property
    def hits(self) -> Proportion:
        """Pictures in the level set, of all."""
        return Proportion(sum(one.is_hit for one in self.seen), len(self.seen))

    @property
    def mistakes(self) -> Proportion:
        """True mistakes, of the pictures whose true answer is known."""
        return _mistakes([one for one in self.seen if one.has_truth])

    @property
    def inside(self) -> tuple[ScoredExample, ...]:
        """The pictures in the query's world, but for the number of their objects."""
        return tuple(one for one in self.seen if one.in_world)

    @property
    def hits_inside(self) -> Proportion:
        """Pictures in the level set, of those in the query's world."""
        return Proportion(sum(one.is_hit for one in self.inside), len(self.inside))

    @property
    def mistakes_inside(self) -> Proportion:
        """True mistakes, of the pictures in the query's world whose true answer is known."""
        return _mistakes([one for one in self.inside if one.has_truth])

    @property
    def accuracy(self) -> Proportion:
        """Right answers (the most probable one), of the pictures whose true answer is known."""
        known = [one for one in self.seen if one.has_truth]
        return Proportion(sum(one.answer == one.truth for one in known), len(known))

    @property
    def confusion(self) -> dict[str, dict[str, int]]:
        """How often each true answer got each answer of the model; only those that occur, in a natural order."""
        pairs = Counter((one.truth, one.answer) for one in self.seen if one.truth is not None)
        truths = in_order({truth for truth, _ in pairs if truth is not None})
        answers = in_order({answer for _, answer in pairs})
        return {truth: {answer: pairs[truth, answer] for answer in answers} for truth in truths}

    def differences(self, manifest: Manifest) -> tuple[str, ...]:
        """What keeps a run from standing beside this: another question, model, target, threshold or world."""
        pairs = (
            ("question", manifest.facts.question, self.question),
            ("target", manifest.target.describe(), self.target),
            ("model", manifest.made.model, self.model_hash),
            ("world", world_of(manifest).scope(manifest.query), self.world),
        )
        return tuple(f"its {what} is {run!r}, here {here!r}" for what, run, here in pairs if run != here)


def _mistakes(known: Sequence[ScoredExample]) -> Proportion:
    return Proportion(sum(one.is_mistake for one in known), len(known))


def is_mistake(truth: str | None, answer: str, named: Sequence[str]) -> bool:
    """Whether a hit is a true mistake: the truth is none of the answers that the target names.

    A target that names none (uniform) takes the model's most probable answer instead. Where the truth is not known,
    or the question has no answer, nothing is a mistake.
    """
    if truth is None or truth == NO_ANSWER:
        return False
    return truth not in named if named else truth != answer


def compared_run(name: str, manifest: Manifest, findings: Results, named: Sequence[str]) -> ComparedRun:
    """The figures of a run, by the same rule for mistakes."""
    wrong = sum(is_mistake(found.truth, found.answer, named) for found in findings.found)
    return ComparedRun(name, findings.ending, len(findings.found), wrong, findings.renders)


def in_order(answers: set[str]) -> tuple[str, ...]:
    """Numbers by size, then words, "no answer" last."""
    return tuple(
        sorted(answers, key=lambda a: (a == NO_ANSWER, not a.isdigit(), int(a) if a.isdigit() else 0, a))
    )
