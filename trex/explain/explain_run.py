"""`trex explain`: explains the most confident hits of a run and saves each as soon as it is done."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trex.explain.explain_scene import ExplainOptions, explain_scene, is_complete
from trex.explain.explanation import FOLDER, Explanation, explanation_path, read_explanation, to_text
from trex.explain.scene_scores import CACHE, open_scores
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import write_atomic
from trex.runs.draw_log import drawn
from trex.runs.folder import RunFolder, check_free, check_scenes, open_run
from trex.runs.open_world import open_world
from trex.search.results import Hit, read_results
from trex.worlds.world import OpenWorld


class ExplainProgress(Protocol):
    """Receives progress updates while scenes are explained."""

    def begin(self, number: int, total: int) -> None:
        """Called when scene `number` of `total` (from 1) begins."""
        ...

    def pictures(self, count: int) -> None:
        """Called after `count` more pictures of the scene are scored."""
        ...

    def done(self) -> None:
        """Called after the explanation is written."""
        ...


@dataclass(frozen=True)
class Explained:
    """The explained hits of a run, most confident first."""

    folder: Path
    explanations: tuple[Explanation, ...]

    @property
    def is_exact(self) -> bool:
        """Whether every control is exact."""
        return all(explanation.control.is_exact for explanation in self.explanations)


def explain(
    path: Path, options: ExplainOptions, watcher: ExplainProgress, processes: int | None = None
) -> Explained:
    """Explain the hits of a run; explanations that exist are not repeated.

    `processes` overrides the run's number of render processes; no picture depends on it. Raises RunError if the run
    has no hits, or if its model or renderer has changed.
    """
    _check(options, processes)
    with open_run(path, for_writing=True) as folder:
        check_scenes(folder)
        found = _found(folder, options.top)
        old = [read_explanation(folder, scene.record.picture) for scene in found]
        if not all(is_complete(made, options) for made in old):
            check_free(path)
            _prepare(folder, old)
            with open_world(folder, processes) as world:
                old = _make(world, folder, found, old, options, watcher)
        return Explained(path, tuple(made for made in old if made is not None))


def _make(
    world: OpenWorld, folder: RunFolder, found: Sequence[Hit], old: Sequence[Explanation | None],
    options: ExplainOptions, watcher: ExplainProgress,
) -> list[Explanation | None]:  # fmt: skip
    scores = open_scores(world, folder, watcher.pictures)
    made: list[Explanation | None] = []
    for number, (scene, before) in enumerate(zip(found, old, strict=True), start=1):
        watcher.begin(number, len(found))
        after = before if is_complete(before, options) else explain_scene(scores, scene, options, before)
        if after is not None and after != before:
            write_atomic(explanation_path(folder, after.picture), to_text(after).encode())
        made.append(after)
        watcher.done()
    return made


def _found(folder: RunFolder, top: int) -> Sequence[Hit]:
    records = drawn(folder)
    found = [scene for scene in read_results(folder.manifest, records).found if scene.record.picture][:top]
    if not found:
        raise RunError(
            f"{folder.path} has found no scene, so there is none to explain; search on (trex resume {folder.path}) or "
            "search for something else"
        )
    return found


def _prepare(folder: RunFolder, old: Sequence[Explanation | None]) -> None:
    """Create the folder of the explanations, and delete what a killed process left half-written.

    Also deletes pictures that were cached while a control failed: they cannot be trusted.
    """
    place = folder.path / FOLDER
    try:
        place.mkdir(exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot make {place}: {error.strerror}") from error
    for scratch in place.glob(".*.tmp"):
        scratch.unlink(missing_ok=True)
    if any(made is not None and not made.control.is_exact for made in old):
        shutil.rmtree(place / CACHE, ignore_errors=True)


def _check(options: ExplainOptions, processes: int | None) -> None:
    for name, value, least in (
        ("--top", options.top, 1),
        ("--nuisances", options.nuisances, 0),
        ("--flip-depth", options.flip_depth, 0),
        ("--flip-renders", options.flip_renders, 0),
        ("--processes", 1 if processes is None else processes, 1),
    ):
        if value < least:
            raise InputError(f"{name} {value} is not possible; give {least} or more")
