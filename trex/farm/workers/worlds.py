"""The worlds that a worker keeps open: Blender and the model stay loaded between tasks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from trex.farm.queue.queued_folder import open_queued, read_queued
from trex.finding.find import manifest_of
from trex.foundation.errors import RunError, TrexError
from trex.query.schema import Query
from trex.runs.folder import RunFolder, open_run
from trex.runs.manifest import Manifest, differences
from trex.search.engine import InProcess
from trex.worlds.kernels import samplers
from trex.worlds.registry import make_plan
from trex.worlds.world import OpenWorld, Plan

MAX_FOLDERS = 64  # run folders whose manifests stay in memory
MAX_OPEN = 2  # each may hold a Blender process and a model
# Settings of [search] that do not change the world, except that a sampler of its own may read any of them.
SEARCH_ONLY = {
    "search": {
        "seed",
        "prior_scenes",
        "chains",
        "steps",
        "stop_when_found",
        "further",
        "control",
    }
}


class IncompatibleWorker(RunError):
    """This worker differs from what the run's manifest records."""


class Worlds:
    """Open worlds by their manifest, the least recently used closed first; each has `processes` renderers."""

    def __init__(self, processes: int | None) -> None:
        self._processes = processes
        self._open: OrderedDict[str, OpenWorld] = OrderedDict()
        self._folders: dict[Path, RunFolder] = {}

    def begin(self, run: Path) -> Manifest:
        """The manifest of a queued run on this machine."""
        queued = read_queued(run)
        plan = open_queued(run)
        world = self._world(plan.query, Path(queued.source).parent, lambda world: _is_of(world, plan))
        return manifest_of(replace(world, plan=plan), Path(queued.source), queued.overrides)

    def engine(self, run: Path) -> InProcess:
        """The engine for a run; IncompatibleWorker if this machine would produce other pictures or scores."""
        folder = self._folder(run)
        manifest = folder.manifest
        try:
            world = self._world(
                manifest.query,
                Path(manifest.folder),
                lambda world: not differences(manifest.made, world.made),
            )
        except TrexError as error:
            raise IncompatibleWorker(f"this worker cannot open the world of {run}: {error}") from error
        changed = differences(manifest.made, world.made)
        if changed:
            raise IncompatibleWorker(f"this worker would score {run} differently: {'; '.join(changed)}")
        return InProcess(world, folder)

    def close(self) -> None:
        """Close all open worlds."""
        while self._open:
            self._open.popitem()[1].close()

    def _folder(self, run: Path) -> RunFolder:
        if run not in self._folders:
            if len(self._folders) >= MAX_FOLDERS:
                self._folders.clear()
            self._folders[run] = open_run(run, for_writing=False)
        return self._folders[run]

    def _world(self, query: Query, query_dir: Path, is_current: Callable[[OpenWorld], bool]) -> OpenWorld:
        """The query's world; one that was opened before its files changed is closed and opened anew."""
        unused = None if query.search.kernel in samplers() else SEARCH_ONLY
        key = f"{query_dir} {query.model_dump_json(exclude=unused)}"
        if key in self._open and not is_current(self._open[key]):
            self._open.pop(key).close()
        if key not in self._open:
            while len(self._open) >= MAX_OPEN:
                self._open.popitem(last=False)[1].close()
            self._open[key] = replace(make_plan(query, query_dir), processes=self._processes).open()
        self._open.move_to_end(key)
        return self._open[key]


def _is_of(world: OpenWorld, plan: Plan) -> bool:
    """Whether an open world has the model, the shapes and the decoder that a plan has just read."""
    now = (plan.model_key(), dict(plan.shapes()), plan.cards, plan.outline)
    return now == (world.made.model, world.made.shapes, world.plan.cards, world.plan.outline)
