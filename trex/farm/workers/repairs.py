"""A repair of rendered scenes on the farm: any worker renders; the queue's process reads the pictures and tunes."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from trex.farm.workers.task_board import TaskBoard
from trex.farm.workers.tasks import SCENES, RenderScenes, TaskResult
from trex.farm.workers.worlds import IncompatibleWorker
from trex.foundation.errors import RunError, TrexError
from trex.foundation.files import write_atomic
from trex.query.schema import RenderSection
from trex.query.toml_file import render_section
from trex.render.cache import decode, encode, entry_name
from trex.render.picture import Picture
from trex.render.renderer import SceneRenderer
from trex.repair.correct import correct
from trex.repair.files import read_fields, write_json
from trex.repair.folder import open_repair
from trex.repair.report import write_report
from trex.repair.scenes.loaded import open_scenes
from trex.repair.settings import SceneQuery
from trex.repair.steps import distill, identify, label, prepared
from trex.runs.folder import FINISHED
from trex.scenes.scene import Scene, scene_id
from trex.scenes.vocabulary import CLEVR
from trex.search.progress import Status, Watcher
from trex.worlds.world import open_renderer

KEYS = "renderers.json"  # of each look, what determines its pixels
TASKS = 2  # of each worker at once; all that are done are lost if the queue's process is killed before the last one


class FarmRenderer:
    """Has the workers of a farm render at one look; satisfies `trex.render.renderer.SceneRenderer`.

    The first worker that is asked says what determines its pixels. The folder keeps that, and all others must agree.
    """

    def __init__(self, board: TaskBoard, job: str, run: Path, look: str) -> None:
        self._board, self._job, self._run, self._look = board, job, run, look
        self.rendered = 0

    @cached_property
    def key(self) -> str:
        path = self._run / KEYS
        known = dict(read_fields(path, "delete it and retry the repair") or {})
        if self._look not in known:
            (answer,) = self._done([RenderScenes(self._run, 0, self._look, "", ())])
            known[self._look] = answer.lines[0]
            write_json(path, known)
        return str(known[self._look])

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        parts = [tuple(zs[start : start + SCENES]) for start in range(0, len(zs), SCENES)]
        tasks = [RenderScenes(self._run, at, self._look, self.key, part) for at, part in enumerate(parts)]
        return [
            picture
            for part, answer in zip(parts, self._done(tasks), strict=True)
            for picture in self._pictures(part, answer.lines[1:])
        ]

    def close(self) -> None:
        """Nothing to free: the renderers are the workers'."""

    def _done(self, tasks: Sequence[RenderScenes]) -> Iterator[TaskResult]:
        for result in self._board.in_order(self._job, tasks):
            self.rendered += result.renders
            yield result

    def _pictures(self, scenes: Sequence[Scene], lines: Sequence[str]) -> Iterator[Picture]:
        for scene, line in zip(scenes, lines, strict=True):
            name = scene_id(scene)
            try:
                yield decode(b64decode(line, validate=True), entry_name(self.key, name), name)
            except ValueError as error:
                raise RunError(
                    f"a worker's picture of {name} is damaged: {error}; retry the repair"
                ) from error


def run_repair(board: TaskBoard, job: str, run: Path, workers: int, watcher: Watcher) -> None:
    """Run or resume a queued repair on scenes up to its report."""
    renderers: list[FarmRenderer] = []

    def open_look(section: RenderSection) -> SceneRenderer:
        renderers.append(FarmRenderer(board, job, run, section.preset))
        return renderers[-1]

    def progress(step: str, done: int, total: int | None, /, *facts: str) -> None:
        board.check(job)  # what this process does itself asks for no task
        renders = sum(each.rendered for each in renderers)
        watcher.update(Status(step, done, total or 0, renders, 0, 0, 0.0, 0, 0))

    with open_repair(run) as folder:
        prepared(folder)
        assert isinstance(folder.query, SceneQuery)
        with open_scenes(folder.query, run, open_look, at_once=TASKS * SCENES * workers) as loaded:
            for step in (identify, distill, label, correct):
                step(folder, loaded, progress)
        write_report(folder)
    write_atomic(run / FINISHED, b"")


class OpenRenderer:
    """The renderer that a worker keeps open for repairs, of one look at a time: it may hold a Blender."""

    def __init__(self, processes: int | None) -> None:
        self._processes = processes
        self._opened: tuple[str, SceneRenderer] | None = None

    def lines(self, work: RenderScenes) -> list[str]:
        """The answer; IncompatibleWorker if this machine would render other pictures."""
        renderer = self._of(work.look)
        if work.key not in ("", renderer.key):
            raise IncompatibleWorker(
                f"this worker would render {work.run} differently: {renderer.key}, not {work.key}"
            )
        pictures = renderer.render(work.scenes) if work.scenes else []
        names = [entry_name(renderer.key, scene_id(scene)) for scene in work.scenes]
        coded = [b64encode(encode(each, name)) for each, name in zip(pictures, names, strict=True)]
        return [renderer.key, *(each.decode() for each in coded)]

    def close(self) -> None:
        """Stop the renderer."""
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None

    def _of(self, look: str) -> SceneRenderer:
        if self._opened is None or self._opened[0] != look:
            self.close()
            try:
                section = render_section(look, self._processes)
                self._opened = look, open_renderer(section, CLEVR, self._processes)
            except TrexError as error:
                raise IncompatibleWorker(f"this worker cannot render at {look}: {error}") from error
        return self._opened[1]
