"""The engine that puts a search's tasks on the farm's board and reassembles their results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trex.farm.workers.reassembly import ChainReassembly, DrawReassembly
from trex.farm.workers.task_board import TaskBoard
from trex.farm.workers.tasks import ALL, SCENES, STEPS, AuditUnit, PrepareRun, RenderScenes
from trex.inference.chains import Checkpoint
from trex.inference.targets import GaussianTarget
from trex.runs.folder import RunFolder
from trex.runs.manifest import Manifest, parse_manifest
from trex.runs.record import Record, from_line
from trex.search.engine import Independent
from trex.worlds.kernels import samplers
from trex.worlds.latents import Latent
from trex.worlds.looks import DECIDING


class FarmEngine:
    """Runs a search on the workers of a farm; satisfies `trex.search.engine.Engine`.

    A worker steps `chains_per_task` chains at once. Up to `tasks_ahead` tasks of scenes may run ahead of the search's
    requests; their results are wasted if the search stops. Fresh draws may be requested between two rounds. NUTS
    steps all chains in one task, since the last bits of a gradient depend on a chain's place in the batch, and runs
    its warmup as one task, since an interrupted warmup starts again.
    """

    def __init__(
        self, board: TaskBoard, job: str, folder: RunFolder, *, chains_per_task: int, tasks_ahead: int
    ) -> None:
        search = folder.manifest.query.search
        sampler = samplers().get(search.kernel)
        self._board, self._job, self._run = board, job, folder.path
        self._chains_per_task = ALL if sampler and sampler.is_joint else chains_per_task
        self._max_ahead = tasks_ahead * SCENES
        self._undivided_steps = search.n_warmup if sampler and sampler.has_whole_warmup else 0
        self._reassemblies: list[DrawReassembly | ChainReassembly] = []

    def draws(self, what: Independent, indices: range, most: int) -> Iterator[Sequence[Record]]:
        """Yield the draws in order, in batches, from tasks ahead of the request."""
        if not indices:
            return
        reassembly = self._reassembly(what, indices.start)
        while True:
            self._board.put(self._job, reassembly.due(min(most, indices.stop + self._max_ahead)))
            records = reassembly.whole(indices.stop)
            if records:
                yield records
            if reassembly.is_complete(indices.stop):
                return
            self._receive()

    def rounds(
        self,
        phase: str,
        target: GaussianTarget,
        begin: Checkpoint[Latent],
        n_rounds: int,
        lead: str = DECIDING,
    ) -> Iterator[Sequence[Record]]:
        """Yield whole rounds in order, from tasks of `chains_per_task` chains."""
        self._withdraw()
        reassembly = ChainReassembly(
            self._run, phase, target, begin, n_rounds,
            steps=STEPS, chains_per_task=self._chains_per_task, undivided_steps=self._undivided_steps, lead=lead,
        )  # fmt: skip
        self._reassemblies.append(reassembly)
        try:
            while not reassembly.is_complete:
                self._board.put(self._job, reassembly.due())
                self._receive()
                yield from reassembly.whole()
        finally:
            self._withdraw()

    def _reassembly(self, what: Independent, begin: int) -> DrawReassembly:
        """The reassembly of these draws: that of an earlier request, unless it was withdrawn."""
        earlier = [
            draw_reassembly
            for draw_reassembly in self._reassemblies
            if isinstance(draw_reassembly, DrawReassembly) and draw_reassembly.is_of(what)
        ]
        if what.zs is None and earlier:
            return earlier[0]
        self._reassemblies = [item for item in self._reassemblies if item not in earlier]
        reassembly = DrawReassembly(self._run, what, begin, SCENES)
        self._reassemblies.append(reassembly)
        return reassembly

    def _withdraw(self) -> None:
        self._board.withdraw(self._job)
        self._reassemblies = []

    def _receive(self) -> None:
        for work, result in self._board.wait(self._job):
            assert not isinstance(work, PrepareRun | AuditUnit | RenderScenes)
            for reassembly in self._reassemblies:
                if reassembly.owns(work):
                    reassembly.accept(work, [from_line(line) for line in result.lines])


def begin_run(board: TaskBoard, job: str, run: Path) -> Manifest:
    """The manifest of a queued run, determined by a worker."""
    board.put(job, [PrepareRun(run)])
    result = board.wait(job)[0][1]
    board.withdraw(job)  # the answer may arrive twice
    return parse_manifest(result.lines[0], f"a worker's manifest of {run}")
