"""Renders and keeps scenes of a prior: a baseline that can be resumed, and shared by queries and models."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from trex.bank.drawn import DrawnScenes
from trex.datasets.examples import Example, Problem
from trex.foundation.errors import InputError
from trex.inference.rng import stream
from trex.query.schema import RenderSection
from trex.render.cache import CachedRenderer
from trex.runs.folder import check_free
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.worlds.world import open_renderer

BATCH = 16  # scenes rendered between two writes
BASELINE_STREAM = 1000  # not a search's streams: baselines are independent of all runs, whatever the seeds
SPLIT = "rendered"


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
