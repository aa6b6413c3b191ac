"""Scores every picture of a source for every query, each as if it were the only one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trex.baseline.baseline import Baseline, ScoredExample, is_mistake
from trex.datasets.examples import Example, Examples, Problem
from trex.foundation.errors import InputError
from trex.inference.scoring import check_log_probs, images
from trex.inference.types import Floats
from trex.pages.thumbnails import Thumbnail, light_url
from trex.query.question import named_answers
from trex.scenes.describe import scene_words
from trex.worlds.world import Plan

OnProgress = Callable[[str, int, int], None]  # (source, pictures done, of)
Key = tuple[str, str, object]


@dataclass(frozen=True)
class PlannedQuery:
    """A checked query and its empty baseline: question, model, target, and the runs to compare with."""

    plan: Plan
    empty: Baseline


@dataclass(frozen=True)
class SourceResult:
    """A scored source: a baseline for each query, the pictures to show, and what was left out."""

    source: str
    baselines: tuple[Baseline, ...]
    thumbnails: tuple[Thumbnail, ...]
    problems: tuple[Problem, ...]


def score_examples(
    examples: Examples, planned: Sequence[PlannedQuery], all_pictures: bool, on_progress: OnProgress
) -> SourceResult:
    """Score every example for every query; InputError if not a single example could be used.

    A model scores a picture once per question, however many queries share it. Pictures of hits are kept for
    display, or all pictures.
    """
    scored: list[list[ScoredExample]] = []  # for each picture, a row for each query
    thumbnails = []
    for number, example in enumerate(examples, start=1):
        rows = score_example(example, [one.plan for one in planned])
        scored.append(rows)
        if all_pictures or any(row.is_hit for row in rows):
            thumbnails.append(_thumbnail(example))
        on_progress(examples.words, number, examples.total)
    if not scored:
        first = examples.problems[0] if examples.problems else Problem(examples.words, "it is empty")
        raise InputError(f"no picture can be used; the first: {first.file}: {first.what}")
    columns = zip(planned, zip(*scored, strict=True), strict=True)
    baselines = tuple(replace(one.empty, source=examples.words, seen=rows) for one, rows in columns)
    return SourceResult(examples.words, baselines, tuple(thumbnails), examples.problems)


def score_example(example: Example, plans: Sequence[Plan]) -> list[ScoredExample]:
    """One example by every query: what each one's model says of it."""
    scored: dict[Key, Floats] = {}
    for plan in plans:
        key = _key(plan)
        if key not in scored:
            scored[key] = log_probs(plan, example)
    return [judge(plan, example, scored[_key(plan)]) for plan in plans]


def _key(plan: Plan) -> Key:
    """Queries with the same key get the same answers."""
    return plan.model_name, plan.question.text, plan.question.program


def log_probs(plan: Plan, example: Example) -> Floats:
    """The log probabilities (K,) of one picture, scored alone, so that they do not depend on other pictures."""
    rows = np.asarray(plan.bound.log_probs(images([example])), dtype=np.float64)
    check_log_probs(rows, (1, len(plan.bound.labels)))
    row: Floats = rows[0]
    return row


def judge(plan: Plan, example: Example, row: Floats) -> ScoredExample:
    """The model's answer on a picture, by the query's own target and threshold."""
    best = int(row.argmax())
    answer, truth = plan.bound.labels[best], plan.world.truth(plan, example)
    is_hit = plan.target.is_hit(row)
    return ScoredExample(
        name=example.name,
        split=example.split,
        answer=answer,
        probability=float(np.exp(row[best])),
        confidence=plan.target.confidence(row),
        is_hit=is_hit,
        truth=truth,
        is_mistake=is_hit and is_mistake(truth, answer, named_answers(plan.query)),
        in_world=plan.world.holds(plan, example),
    )


def _thumbnail(example: Example) -> Thumbnail:
    words = (
        scene_words(example.scene) if example.scene else f"Picture {example.name}; what is in it is not known"
    )
    return Thumbnail(example.name, light_url(example.pixels), words)
