"""`trex explain`: explains the most confident hits of a run and saves each as soon as it is done."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from trex.explain.explain_scene import explain_scene, is_complete
from trex.explain.explanation import Explanation
from trex.explain.options import ExplainOptions
from trex.explain.scene_scores import CACHE, open_scores
from trex.explain.stored import CODEC, FOLDER, explanation_path, read_explanation
from trex.explain.traces import NOT_TRACED, Traces, to_trace, trace_hits
from trex.foundation.files import make_folder, write_atomic
from trex.foundation.progress import Progress
from trex.foundation.words import counted
from trex.query.target import leaves_answer_open
from trex.runs.folder import RunFolder, check_free
from trex.search.hit import Hit
from trex.trials.hits import stored_hits
from trex.worlds.world import OpenWorld


@dataclass(frozen=True)
class ExplainedHits:
    """The explained hits of a run, most confident first; and what is traced of them, once it is."""

    folder: Path
    explanations: tuple[Explanation, ...]
    traces: Traces = NOT_TRACED
    starts: Mapping[str, int] = field(
        default_factory=dict
    )  # of each picture, once the run's results are read

    @property
    def is_exact(self) -> bool:
        """Whether every control is exact."""
        return all(explanation.control.is_exact for explanation in self.explanations)


def explain(
    folder: RunFolder,
    options: ExplainOptions,
    progress: Progress,
    opened: Callable[[], AbstractContextManager[OpenWorld]],
) -> ExplainedHits:
    """Explain the hits of a run that is open for writing; explanations that exist are not repeated.

    Its world is `opened` only if something is missing. Raises RunError if the run has no hits, or if its model or
    renderer has changed.
    """
    found = stored_hits(folder, "to explain", options.top)
    old = [read_explanation(folder, scene.record.picture) for scene in found]
    about = folder.manifest
    is_torn = leaves_answer_open(about.query.target, about.question, about.facts.labels)
    untraced = to_trace(folder, found) if options.trace else []
    if untraced or not all(is_complete(explanation, options, is_torn) for explanation in old):
        check_free(folder.path)
        _prepare(folder, old)
        with opened() as world:
            trace_hits(folder, world, untraced, progress)
            old = _make(world, folder, found, old, options, progress)
    return ExplainedHits(folder.path, tuple(explanation for explanation in old if explanation is not None))


def _make(
    world: OpenWorld, folder: RunFolder, found: Sequence[Hit], old: Sequence[Explanation | None],
    options: ExplainOptions, progress: Progress,
) -> list[Explanation | None]:  # fmt: skip
    explanations: list[Explanation | None] = []
    pictures = 0

    def show(more: int = 0) -> None:
        """The pictures scored for all scenes so far, and the scenes explained."""
        nonlocal pictures
        pictures += more
        progress("scenes explained", len(explanations), len(found), f"{counted(pictures, 'picture')} scored")

    scores = open_scores(world, folder, show)
    show()
    for scene, before in zip(found, old, strict=True):
        is_done = is_complete(before, options, scores.is_torn)
        after = before if is_done else explain_scene(scores, scene, options, before)
        if after is not None and after != before:
            write_atomic(explanation_path(folder, after.picture), CODEC.text(after).encode())
        explanations.append(after)
        show()
    return explanations


def _prepare(folder: RunFolder, old: Sequence[Explanation | None]) -> None:
    """Create the folder of the explanations; delete pictures that were cached while a control failed."""
    place = folder.path / FOLDER
    make_folder(place)
    if any(explanation is not None and not explanation.control.is_exact for explanation in old):
        shutil.rmtree(place / CACHE, ignore_errors=True)
