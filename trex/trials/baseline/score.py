"""Scores every picture of a source, read or rendered, for every query, each as if it were the only one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from trex.bank.drawn import DrawnScenes
from trex.datasets.examples import Example, Examples, Problem
from trex.foundation.errors import InputError
from trex.foundation.progress import Progress
from trex.inference.rng import stream
from trex.inference.scoring import check_log_probs, images
from trex.inference.types import Floats
from trex.pages.thumbnails import Thumbnail, light_url
from trex.query.question import named_answers
from trex.query.schema import RenderSection
from trex.render.blender.blender_renderer import default_processes
from trex.render.cache import CachedRenderer
from trex.runs.folder import check_free
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene, scene_words
from trex.trials.baseline.baseline import Baseline, ScoredExample, is_mistake
from trex.trials.baseline.misread import COHORT, Photographed, Tracer, photographed
from trex.worlds.world import Plan, open_renderer

Planned = tuple[Plan, Baseline]  # a checked query, and its baseline before any picture is scored
BATCH = 16  # scenes rendered between two writes
BASELINE_STREAM = 1000  # not a search's streams: baselines are independent of all runs, whatever the seeds
SPLIT = "rendered"


@dataclass(frozen=True)
class SourceResult:
    """A scored source: a baseline for each query, the pictures to show, and what was left out."""

    source: str
    baselines: tuple[Baseline, ...]
    thumbnails: tuple[Thumbnail, ...]
    problems: tuple[Problem, ...]


def score_examples(
    examples: Examples, planned: Sequence[Planned], all_pictures: bool, progress: Progress
) -> SourceResult:
    """Score every example for every query; InputError if not a single example could be used.

    A model scores a picture once per question, however many queries share it. True mistakes are traced. Pictures of
    hits are kept for display, or all pictures.
    """
    scored: list[list[ScoredExample]] = []  # for each picture, a row for each query
    thumbnails = []
    plain: dict[str, Photographed] = {}
    tracers = [Tracer(plan) for plan, _ in planned]
    for number, example in enumerate(examples, start=1):
        rows = score_example(example, [plan for plan, _ in planned])
        scored.append([tracer.traced(example, row) for tracer, row in zip(tracers, rows, strict=True)])
        if example.scene is not None and len(plain) < COHORT:
            plain[example.name] = photographed(example)
        if all_pictures or any(row.is_hit for row in rows):
            thumbnails.append(_thumbnail(example))
        progress(examples.words, number, examples.total)
    if not scored:
        first = examples.problems[0] if examples.problems else Problem(examples.words, "it is empty")
        raise InputError(f"no picture can be used; the first: {first.file}: {first.what}")
    columns = zip(planned, tracers, zip(*scored, strict=True), strict=True)
    baselines = tuple(
        tracer.told(replace(empty, source=examples.words, seen=rows), plain)
        for (_, empty), tracer, rows in columns
    )
    return SourceResult(examples.words, baselines, tuple(thumbnails), examples.problems)


def score_example(example: Example, plans: Sequence[Plan]) -> list[ScoredExample]:
    """One example by every query: what each one's model says of it."""
    scored: dict[object, Floats] = {}  # queries with the same key get the same answers
    rows = []
    for plan in plans:
        key = (plan.model_name, plan.question.text, plan.question.program)
        if key not in scored:
            scored[key] = log_probs(plan, example)
        rows.append(judge(plan, example, scored[key]))
    return rows


def log_probs(plan: Plan, example: Example) -> Floats:
    """The log probabilities (K,) of one picture, scored alone, so that they do not depend on other pictures."""
    rows = np.asarray(plan.bound.log_probs(images([example])), dtype=np.float64)
    check_log_probs(rows, (1, len(plan.bound.labels)))
    row: Floats = rows[0]
    return row


def judge(plan: Plan, example: Example, row: Floats) -> ScoredExample:
    """The model's answer on a picture, by the query's own target and threshold."""
    best = int(row.argmax())
    answer, known = plan.bound.labels[best], plan.world.known(plan, example)
    is_hit = plan.target.is_hit(row)
    return ScoredExample(
        name=example.name,
        split=example.split,
        answer=answer,
        probability=float(np.exp(row[best])),
        confidence=plan.target.confidence(row),
        is_hit=is_hit,
        truth=known.truth,
        is_mistake=is_hit and is_mistake(known.truth, answer, named_answers(plan.query)),
        in_world=known.is_possible,
    )


def _thumbnail(example: Example) -> Thumbnail:
    words = f"Picture {example.name}; what is in it is not known"
    return Thumbnail(
        example.name, light_url(example.pixels), scene_words(example.scene) if example.scene else words
    )


@dataclass(frozen=True)
class RenderedScenes:
    """`n` draws of a prior, rendered; draw i depends on the prior, the seed and i alone.

    Draws and pictures are kept below `cache`, so that a killed run resumes there and nothing is rendered twice.
    """

    prior: ScenePrior
    render: RenderSection
    n: int
    seed: int
    world: str  # a description
    cache: Path

    def __post_init__(self) -> None:
        if self.n < 1 or self.seed < 0:
            raise InputError(
                f"{self.n} scenes with seed {self.seed}: ask for at least one, and seed 0 or more"
            )

    @property
    def words(self) -> str:
        """The prior and the preset, in words."""
        return f"{self.n} scenes of {self.world}, seed {self.seed}, preset {self.render.preset}"

    @property
    def total(self) -> int:
        """The number of draws."""
        return self.n

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Always empty: a scene that cannot be rendered raises an error."""
        return ()

    def __iter__(self) -> Iterator[Example]:
        inner = open_renderer(self.render, self.prior.vocabulary)
        renderer = CachedRenderer(inner, self.cache / "pictures")
        check_free(self.cache)
        try:
            scenes = enumerate(self.scenes())
            while batch := list(islice(scenes, BATCH)):
                pictures = renderer.render([scene for _, scene in batch])
                for (index, scene), picture in zip(batch, pictures, strict=True):
                    yield Example(f"{SPLIT}_{index:06d}", SPLIT, picture.pixels, scene)
        finally:
            renderer.close()

    def scenes(self) -> Iterator[Scene]:
        """Yield the draws: stored ones first, then new ones, which are stored."""
        path = self.cache / "drawn" / f"{self._drawn_name()}.jsonl"
        try:
            drawn = DrawnScenes(path, self._draw)
        except InputError as error:
            raise InputError(f"{error}; give another place with --cache") from error
        with drawn:
            drawn.draw_ahead(range(self.n), self.prior, self.render.processes or default_processes())
            try:
                yield from drawn.scenes(range(self.n))
            except OSError as error:
                raise InputError(
                    f"cannot write {path}: {error.strerror}; give another place with --cache"
                ) from error

    def _draw(self, index: int) -> Scene:
        return self.prior.sample(stream(self.seed, BASELINE_STREAM, index))

    def _drawn_name(self) -> str:
        """A name shared by equal distributions: it depends on what may occur and how often, not on names."""
        return hashlib.sha256(f"{self.prior.world!r} {self.seed}".encode()).hexdigest()[:32]
