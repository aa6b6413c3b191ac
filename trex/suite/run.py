"""`trex suite run`: asks a model about the stored pictures and compares its failures with the last run's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from trex.clevr_models.interface.bound import ClevrModel
from trex.clevr_models.interface.question import question_of
from trex.foundation.errors import InputError
from trex.foundation.words import counted
from trex.inference.statistics.paired import Paired, paired
from trex.suite.batch import Batch, BatchScene, check_files, read_batches
from trex.suite.last_run import LastRun, read_last_run
from trex.worlds.asking import ask_all
from trex.worlds.world import open_model


class Change(Enum):
    """A scene compared with the last run or, if that did not have it, with the failure for which it was added."""

    NEWLY_FAILING = "newly failing"
    STILL_FAILING = "still failing"
    FIXED = "fixed"
    PASSING = "passing"


@dataclass(frozen=True)
class SceneResult:
    """The model's answer to one scene; `failed_before` is None if the last run did not have the scene."""

    key: str
    question: str
    truth: str
    answer: str
    probability: float
    failed_before: bool | None

    @property
    def fails(self) -> bool:
        """Whether the answer is wrong."""
        return self.answer != self.truth

    @property
    def change(self) -> Change:
        """What has changed; a scene that no run has asked counts as failed before."""
        if self.failed_before is False:
            return Change.NEWLY_FAILING if self.fails else Change.PASSING
        return Change.STILL_FAILING if self.fails else Change.FIXED

    @property
    def words(self) -> str:
        """The question with both answers: "How many ...? true answer 2, model says 3 (0.970)"."""
        return f"{self.question} true answer {self.truth}, model says {self.answer} ({self.probability:.3f})"


@dataclass(frozen=True)
class SuiteRun:
    """The results of a run in the order of the suite; `last` is the model of the last run, "" before the first."""

    model: str
    last: str
    results: tuple[SceneResult, ...]

    @property
    def paired(self) -> Paired | None:
        """Failures of the last run and of this one, on the scenes that both have; None if there are none.

        The failures for which scenes were added do not count: they were selected, so fewer would fail again anyway.
        """
        both = [one for one in self.results if one.failed_before is not None]
        before = [bool(one.failed_before) for one in both]
        return paired(before, [one.fails for one in both]) if both else None

    def of(self, change: Change) -> tuple[SceneResult, ...]:
        """The results with this change."""
        return tuple(one for one in self.results if one.change is change)

    def record(self) -> LastRun:
        """What the next run compares with."""
        return LastRun(self.model, {one.key: one.fails for one in self.results})

    def sentences(self) -> tuple[str, ...]:
        """The counts, and the comparison with the last run, for the terminal."""
        counts = ", ".join(f"{len(self.of(change))} {change.value}" for change in Change)
        first = f"{self.model} on {counted(len(self.results), 'scene')}: {counts}."
        if (test := self.paired) is None:
            return first, "No earlier run has asked these scenes, so there is nothing to test."
        before, now = test.both + test.only_first, test.both + test.only_second
        return first, (
            f"Against the last run ({self.last}) on {counted(test.n, 'scene')} of both: {before} failed before, "
            f"{now} fail now; exact McNemar test p = {test.p_value:.3g}."
        )


def read_suite(suite: Path) -> tuple[Batch, ...]:
    """The batches of a suite, with every file checked; InputError if one is damaged, or if there is none."""
    batches = read_batches(suite)
    if not batches:
        raise InputError(f"{suite} holds no scene; add some: trex suite add RUN --to {suite}")
    for batch in batches:
        check_files(batch)
    return batches


def run_suite(suite: Path, spec: str) -> SuiteRun:
    """Ask the model that a spec names about every picture of a suite; writes nothing.

    All files are checked before the model is loaded. InputError if one is damaged or the model cannot read a question,
    ModelError if the model does not answer.
    """
    batches, last = read_suite(suite), read_last_run(suite)
    model = open_model(spec)
    failed = last.failed if last else {}
    results = [
        ask_scene(model, batch, scene, failed.get(batch.key(scene))) for batch, scene in scenes_of(batches)
    ]
    return SuiteRun(model.name, last.model if last else "", tuple(results))


def scenes_of(batches: Sequence[Batch]) -> Iterator[tuple[Batch, BatchScene]]:
    """The scenes of all batches, each with its batch."""
    return ((batch, scene) for batch in batches for scene in batch.content.scenes)


def ask_scene(model: ClevrModel, batch: Batch, scene: BatchScene, failed_before: bool | None) -> SceneResult:
    """Ask a model about one stored picture."""
    question = question_of(batch.question(scene), batch.program(scene))
    (said,) = ask_all(model, batch.picture(scene), [question])
    return SceneResult(
        batch.key(scene), question.text, scene.truth, said.answer, said.probability, failed_before
    )
