"""`trex suite run`: asks a model about a suite at a look and compares its failures with the last run's at that look."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path

import numpy as np

from trex.clevr_models.interface.bound import ClevrModel
from trex.clevr_models.interface.labels import bound_to
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError
from trex.foundation.junit import Case, CaseStatus
from trex.foundation.progress import Progress, silent
from trex.foundation.words import counted, quoted
from trex.inference.statistics.paired import CLEAR, Paired, paired
from trex.query.schema import RenderSection
from trex.query.verb_options import about_model
from trex.scenes.questions.answers import is_same
from trex.suite.batch import Batch, BatchScene, check_files, read_batches, related
from trex.suite.look import STORED, LastRun, SuiteLook, read_last_run
from trex.suite.options import SuiteRunOptions
from trex.suite.rendered import Pictures, open_rendered
from trex.worlds.asking import ask_all, ask_mean, check_named
from trex.worlds.fingerprint import weights_fingerprint
from trex.worlds.world import open_model, picture_size

InBatch = tuple[Batch, BatchScene]


class Change(Enum):
    """A scene compared with the last run or, if that did not have it, with the failure for which it was added."""

    NEWLY_FAILING = "newly failing"
    STILL_FAILING = "still failing"
    FIXED = "fixed"
    PASSING = "passing"


@dataclass(frozen=True)
class SceneResult:
    """The model's answer to one scene; `failed_before` is None if the last run did not have the scene.

    `is_selected`: the scene was added because this run's model, or the last one's, fails on it. `group` is shared by
    related scenes.
    """

    key: str
    question: str
    truth: str
    answer: str
    probability: float
    failed_before: bool | None
    is_selected: bool = False
    group: str = ""

    @property
    def fails(self) -> bool:
        """Whether the answer is wrong."""
        return not is_same(self.answer, self.truth)

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


@dataclass(frozen=True, repr=False)
class SuiteRun:
    """The results in the order of the suite; `last` is the model of the last run at this look, "" before the first."""

    model: str
    last: str
    results: tuple[SceneResult, ...]
    look: SuiteLook = STORED
    weights: str = ""
    strict: bool = False
    gone: tuple[str, ...] = ()  # scenes of the last run that the suite no longer has

    @property
    def is_failed(self) -> bool:
        """Whether a scene fails the build: newly or, if strict, at all, or by being gone."""
        is_gone = self.strict and bool(self.gone)
        return is_gone or any(is_failure(result, strict=self.strict) for result in self.results)

    def document(self) -> object:
        test, groups = self.paired, self.paired_groups
        return {
            "model": self.model,
            "look": self.look.name,
            "last_model": self.last or None,
            "counts": {change.value: len(self.of(change)) for change in Change},
            "scenes": [{**asdict(result), "change": result.change.value} for result in self.results],
            "gone": list(self.gone),
            "paired": {**asdict(test), "groups": groups.n, "p_value": groups.p_value}
            if test and groups
            else None,
        }

    def __repr__(self) -> str:
        return f"<SuiteRun: {self.sentences()[0]}>"

    def __str__(self) -> str:
        lines = [f"{result.change.value:14} {result.key}: {result.words}" for result in self.results]
        return "\n".join((*lines, *self.sentences()))

    @property
    def paired(self) -> Paired | None:
        """Failures of the last run and of this one, on the scenes that both have; None if there are none.

        Scenes that were added because one of the two models fails on them do not count: they were selected, so that any
        other model fails on fewer.
        """
        both = self._in_both
        return paired(_failed_before(both), [result.fails for result in both]) if both else None

    @property
    def paired_groups(self) -> Paired | None:
        """The same of groups of related scenes, each of which counts once."""
        both = self._in_both
        groups = [result.group for result in both]
        return paired(_failed_before(both), [result.fails for result in both], groups) if both else None

    @property
    def _in_both(self) -> list[SceneResult]:
        return [
            result for result in self.results if result.failed_before is not None and not result.is_selected
        ]

    @property
    def _either(self) -> str:
        """This run's model, or the last one's."""
        return " or ".join(dict.fromkeys((self.model, self.last)))

    def of(self, change: Change) -> tuple[SceneResult, ...]:
        """The results with this change."""
        return tuple(result for result in self.results if result.change is change)

    def record(self) -> LastRun:
        """What the next run compares with."""
        return LastRun(self.model, {result.key: result.fails for result in self.results}, self.weights)

    def sentences(self) -> tuple[str, ...]:
        """The counts, the comparison with the last run, and what is gone since, for the terminal."""
        return (*self._compared(), *([gone_words(self.gone)] if self.gone else []))

    def _compared(self) -> tuple[str, str]:
        counts = ", ".join(f"{len(self.of(change))} {change.value}" for change in Change)
        look, here = (f", {self.look.words}", " at this preset") if self.look.words else ("", "")
        first = f"{self.model} on {counted(len(self.results), 'scene')}{look}: {counts}."
        test, groups = self.paired, self.paired_groups
        if test is None or groups is None:
            unasked = all(result.failed_before is None for result in self.results)
            why = (
                f"No earlier run has asked these scenes{here}"
                if unasked
                else f"The scenes that both runs have{here} were added because {self._either} fails on them"
            )
            return first, f"{why}, so there is nothing to test."
        before, now = test.both + test.only_first, test.both + test.only_second
        exact = "exact McNemar test"
        if groups.n < test.n:
            worse, better = groups.only_second, groups.only_first
            of = f"{counted(groups.n, 'group')} of related scenes"
            exact = f"of {of} {worse} got worse and {better} better, exact sign test"
        verdict = "No clear change"
        if groups.p_value < CLEAR:
            verdict = "More failures" if groups.sign < 0 else "Fewer failures"
        return first, (
            f"{verdict} since the last run{here} ({self.last}): of the {counted(test.n, 'scene')} that both have, "
            f"{before:,} failed then and {now:,} now ({exact}, p = {groups.p_value:.2g})."
        )


def gone_words(gone: Collection[str]) -> str:
    """That the suite no longer has these scenes of the last run, in a sentence."""
    return f"{counted(len(gone), 'scene')} of the last run {'is' if len(gone) == 1 else 'are'} gone from the suite."


def gone_scenes(last: LastRun | None, batches: Sequence[Batch]) -> tuple[str, ...]:
    """The scenes of the last run that no batch has."""
    have = {batch.key(scene) for batch, scene in scenes_of(batches)}
    return tuple(key for key in (last.failed if last else ()) if key not in have)


def _failed_before(results: Sequence[SceneResult]) -> list[bool]:
    return [bool(result.failed_before) for result in results]


def read_suite(suite: Path) -> tuple[Batch, ...]:
    """The batches of a suite, with every file checked; InputError if one is damaged, or if there is none."""
    batches = read_batches(suite)
    if not batches:
        raise InputError(f"{suite} holds no scene; add some: trex suite add RUN --to {quoted(suite)}")
    for batch in batches:
        check_files(batch)
    return batches


def run_suite(options: SuiteRunOptions, progress: Progress = silent) -> SuiteRun:
    """Ask a model about every scene of a suite; writes nothing but rendered pictures to the cache.

    Everything is checked before the first render: files, model, questions, device. InputError if a file is damaged or
    the model cannot read a question or give its true answer, ModelError if it does not answer, RenderError if a scene
    cannot be rendered.
    """
    look = SuiteLook(options.render, options.fresh, options.seed)
    batches, last = read_suite(options.suite), read_last_run(options.suite, look)
    failed = last.failed if last else {}
    model = open_model(options.model, about_model(options))
    scenes = list(scenes_of(batches))
    weights = _weights(model, scenes[0])
    names = {(model.name, weights), *([(last.model, last.weights)] if last else [])}
    selected, groups = _selected(batches, names), related(batches)
    results = []
    with ExitStack() as stack:
        pictures: Iterator[Pictures] = map(_stored, scenes)
        if look.preset is not None:
            rendered = stack.enter_context(open_rendered(batches, look, options.device, options.processes))
            _check_model(model, scenes, look.preset)
            pictures = rendered.pictures([batch.key(scene) for batch, scene in scenes])
        for number, (batch, scene) in enumerate(scenes):
            progress("scenes", number, len(scenes))
            result = ask_scene(model, batch, scene, next(pictures), failed.get(batch.key(scene)))
            results.append(replace(result, is_selected=result.key in selected, group=groups[result.key]))
        progress("scenes", len(scenes), len(scenes))
    before, gone = last.model if last else "", gone_scenes(last, batches)
    return SuiteRun(model.name, before, tuple(results), look, weights, options.strict, gone)


def _selected(batches: Sequence[Batch], names: Collection[tuple[str, str]]) -> set[str]:
    """The scenes that are in the suite because one of these models fails on them, and for no other reason.

    One that another model fails on as well would be there anyway. Were it left out, that other model's batch would keep
    only what it fails on and these do not, on which any other model is worse.
    """
    is_theirs: dict[str, bool] = {}
    for batch in batches:
        is_by = any(batch.content.is_by(*name) for name in names)
        for key in (*map(batch.key, batch.content.scenes), *batch.content.also):
            is_theirs[key] = is_theirs.get(key, True) and is_by
    return {key for key, is_by in is_theirs.items() if is_by}


def _weights(model: ClevrModel, pair: InBatch) -> str:
    batch, scene = pair
    bound = bound_to(model, Question(scene.question, batch.program(scene)))
    return weights_fingerprint(model.name, bound)


def scenes_of(batches: Sequence[Batch]) -> Iterator[InBatch]:
    """The scenes of all batches, each with its batch."""
    return ((batch, scene) for batch in batches for scene in batch.content.scenes)


def ask_scene(
    model: ClevrModel, batch: Batch, scene: BatchScene, pictures: Pictures, failed_before: bool | None
) -> SceneResult:
    """Ask a model about the pictures of a scene, and judge its mean probabilities."""
    question = Question(scene.question, batch.program(scene))
    best = ask_mean(model, pictures, question, scene.truth)
    return SceneResult(
        batch.key(scene),
        question.text,
        scene.truth,
        best.answer,
        best.probability,
        failed_before,
    )


def _stored(pair: InBatch) -> Pictures:
    batch, scene = pair
    return (batch.picture(scene),)


def _check_model(model: ClevrModel, scenes: Sequence[InBatch], preset: str) -> None:
    """Raise the model's error if it cannot read a question or give its true answer, or if the size does not suit it."""
    truths: dict[Question, set[str]] = {}
    for batch, scene in scenes:
        truths.setdefault(Question(scene.question, batch.program(scene)), set()).add(scene.truth)
    for question, answers in truths.items():
        bound = bound_to(model, question)
        for answer in sorted(answers):
            check_named(model.name, bound.labels, question.text, answer)
    width, height = picture_size(RenderSection(preset=preset))
    ask_all(model, np.zeros((height, width, 3), np.float32), [next(iter(truths))])


def is_failure(result: SceneResult, *, strict: bool) -> bool:
    """Whether a scene fails the build: it fails newly or, with `strict`, at all."""
    return result.fails and (strict or result.change is Change.NEWLY_FAILING)


def cases(suite: Path, done: SuiteRun) -> list[Case]:
    """One case a scene, in a group for each look; failures that are known are skipped, with the reason.

    So is one of the last run that is gone; if strict, it fails.
    """
    group = suite.resolve().name + (f" ({done.look.name})" if done.look.words else "")
    asked = [
        Case(result.key, group, _status(result, done.strict), f"{result.change.value}: {result.words}")
        for result in done.results
    ]
    status = CaseStatus.FAILED if done.strict else CaseStatus.SKIPPED
    return [
        *asked,
        *(Case(key, group, status, "gone from the suite since the last run") for key in done.gone),
    ]


def _status(result: SceneResult, strict: bool) -> CaseStatus:
    if is_failure(result, strict=strict):
        return CaseStatus.FAILED
    return CaseStatus.SKIPPED if result.fails else CaseStatus.PASSED
