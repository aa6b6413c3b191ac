"""Several Blender processes that share a list of scenes; a failed process is replaced and its scene repeated."""

from __future__ import annotations

import logging
import os
import select
import time
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from trex.foundation.errors import RenderError
from trex.foundation.words import counted
from trex.render.blender.process import RenderStats, Worker, sweep_folders
from trex.render.blender.program import Program
from trex.render.blender.settings import Settings
from trex.render.blender.wire import ChannelError, TimedOut
from trex.render.picture import Picture
from trex.scenes.scene import Scene, scene_id

log = logging.getLogger(__name__)
MIN_SHARE = 0.02  # of one core: a process that gets less counts as hanging
GPU_FIRST_RENDER_S = 900.0  # the first render on a GPU may compile kernels
OUT_OF_MEMORY = "System is out of GPU memory"  # what Cycles says
SLOW_OR_BROKEN = "Render it alone at preset 'draft', or raise timeout_s."
FULL_CARD = (
    "The graphics card's memory is full: use fewer Blender processes ([render] processes; docs/how-to/gpu.md says "
    'what each takes), or [render] device = "cpu".'
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on a render's seconds, a process's resident bytes, and the attempts at a scene or a start.

    On a busy machine a running render may take longer, until it has had those seconds of CPU time.
    """

    timeout_s: float
    memory_bytes: int
    attempts: int = 3


@dataclass(slots=True)
class Task:
    """A scene in progress, and its failures so far."""

    index: int
    scene: Scene
    failures: list[str]
    patience_s: float = 0.0
    deadline: float = 0.0
    first_cpu_s: float = 0.0  # of the process when it received the scene
    last_cpu_s: float = 0.0  # of the process at the last check


class Pool:
    """The processes. Not thread-safe; between two renders its only state is the set of running processes."""

    def __init__(self, settings: Settings, program: Program, limits: Limits, size: int) -> None:
        self.settings, self.program, self.limits, self.size = settings, program, limits, size
        self.workers: list[Worker] = []
        self.denoises_on: str | None = None  # known once a process has started
        self.owner = os.getpid()
        self._end = weakref.finalize(self, _stop_all, self.workers, self.owner)

    def device(self) -> str:
        """The device of the processes; starts one if none runs."""
        self._forget_after_fork()
        if not self.workers:
            self._start(1)
        return self.workers[0].device

    def device_names(self) -> tuple[str, ...]:
        """The names of the processors that the device stands for; starts a process if none runs."""
        self.device()
        return self.workers[0].device_names

    def denoiser(self) -> str:
        """The device that denoises, "" if none does; starts a process if none runs."""
        self.device()
        return self.denoises_on or ""

    def process_ids(self) -> list[int]:
        return [worker.process.pid for worker in self.workers]

    def close(self) -> None:
        _stop_all(self.workers, self.owner)

    def render(self, scenes: Sequence[Scene]) -> list[tuple[Picture, RenderStats]]:
        """Pictures and costs in the order of the scenes."""
        self._forget_after_fork()
        return Run(self, scenes).finish()

    def blend_file(self, scene: Scene) -> bytes:
        """A scene as a .blend file, which is tried once; RenderError if it fails."""
        self.device()
        worker = self.workers[0]
        try:
            return worker.blend_file(scene, time.monotonic() + self.limits.timeout_s)
        except ChannelError as error:
            reason = worker.describe(error)
            self.drop(worker)
            raise RenderError(
                f"scene {scene_id(scene)} could not be written as a .blend file: {reason}"
            ) from error
        except BaseException:
            self.drop(worker)  # it may still answer
            raise

    def start_missing(self, target_size: int) -> None:
        """Start processes until `target_size` run, at most the pool's size."""
        self._start(min(target_size, self.size) - len(self.workers))

    def drop(self, worker: Worker) -> None:
        """End one process and forget it."""
        if worker in self.workers:
            self.workers.remove(worker)
            worker.stop()

    def _start(self, count: int) -> None:
        """Start processes in parallel; retries failed ones a bounded number of times."""
        failures: list[str] = []
        missing = count
        if not self.workers:
            sweep_folders()
        for _ in range(self.limits.attempts):
            if missing > 0:
                running = len(self.workers) + missing
                log.info("starting Blender (%s)", counted(running, "process", "processes"))
            fresh = [self._begun() for _ in range(missing)]
            missing -= sum([self._is_ready(worker, failures) for worker in fresh])
            if missing <= 0:
                return
        raise RenderError("cannot start Blender: " + "; then ".join(failures[-self.limits.attempts :]))

    def _begun(self) -> Worker:
        """A process that builds its stage; RenderError if the system gives none, after all others have ended."""
        try:
            worker = Worker(self.settings, self.program)
        except OSError as error:
            self.close()
            raise RenderError(f"cannot start Blender: {error.strerror or error}") from error
        except BaseException:
            self.close()
            raise
        self.workers.append(worker)
        return worker

    def _is_ready(self, worker: Worker, failures: list[str]) -> bool:
        try:
            worker.wait_ready()
        except ChannelError as error:
            failures.append(worker.describe(error))
            log.warning("restarting Blender: %s", failures[-1])
            self.drop(worker)
            return False
        except BaseException:
            self.close()
            raise
        if self.settings.device == "auto":
            log.info("device auto: rendering on %s", worker.device)
            self.settings = replace(
                self.settings, device=worker.device
            )  # no later process may choose another
        if worker.device != self.settings.device:
            failures.append(f"a process chose device {worker.device}, another one {self.settings.device}")
            self.drop(worker)
            return False
        if self.denoises_on is None:
            self.denoises_on = worker.denoiser  # nor denoise elsewhere: the bytes would be others
        if worker.denoiser != self.denoises_on:
            failures.append(f"a process denoises on {worker.denoiser}, another one on {self.denoises_on}")
            self.drop(worker)
            return False
        return True

    def _forget_after_fork(self) -> None:
        """In a forked copy of this program, leave the processes to the original and start new ones."""
        if os.getpid() != self.owner:
            self.workers.clear()
            self.owner = os.getpid()
            self._end.detach()
            self._end = weakref.finalize(self, _stop_all, self.workers, self.owner)


class Run:
    def __init__(self, pool: Pool, scenes: Sequence[Scene]) -> None:
        self.pool = pool
        self.waiting = deque(Task(index, scene, []) for index, scene in enumerate(scenes))
        self.busy: dict[int, tuple[Worker, Task]] = {}  # by the descriptor of the answer pipe
        self.done: list[tuple[Picture, RenderStats] | None] = [None] * len(scenes)

    def finish(self) -> list[tuple[Picture, RenderStats]]:
        """Work until all scenes are done. However it ends, no process is left with an unread answer."""
        try:
            while self.waiting or self.busy:
                self._hand_out()
                self._collect()
        except BaseException:
            for worker, _ in self.busy.values():
                self.pool.drop(worker)
            raise
        return [result for result in self.done if result is not None]

    def _hand_out(self) -> None:
        self.pool.start_missing(len(self.waiting) + len(self.busy))
        for worker in list(self.pool.workers):
            if self.waiting and worker.answer_fd not in self.busy:
                self._give(worker, self.waiting.popleft())

    def _give(self, worker: Worker, task: Task) -> None:
        is_first_on_gpu = worker.requests == 0 and worker.device != "cpu"
        task.patience_s = self.pool.limits.timeout_s + (GPU_FIRST_RENDER_S if is_first_on_gpu else 0.0)
        task.deadline = time.monotonic() + task.patience_s
        task.first_cpu_s = task.last_cpu_s = worker.cpu_s()
        try:
            worker.ask(task.scene)
        except ChannelError as error:
            self._failed(worker, task, error)
        else:
            self.busy[worker.answer_fd] = (worker, task)

    def _collect(self) -> None:
        """Wait for the next answer, process end or deadline, and handle all that have occurred."""
        if not self.busy:
            return
        poll = select.poll()
        for fd in self.busy:
            poll.register(fd, select.POLLIN)
        nearest = min(task.deadline for _, task in self.busy.values())
        poll_ms = max(0.0, nearest - time.monotonic()) * 1000.0 + 1.0
        for fd, _ in poll.poll(poll_ms):
            self._read(*self.busy.pop(fd))
        for fd, (worker, task) in list(self.busy.items()):
            if time.monotonic() >= task.deadline and not is_only_slow(worker, task):
                del self.busy[fd]
                self._failed(worker, task, TimedOut(f"no answer within {task.patience_s:g} s"))

    def _read(self, worker: Worker, task: Task) -> None:
        try:
            result = worker.take(task.scene, task.deadline, len(task.failures) + 1)
        except ChannelError as error:
            self._failed(worker, task, error)
            return
        self.done[task.index] = result
        worker.trim_log()
        rss_bytes = result[1].rss_bytes
        if rss_bytes > self.pool.limits.memory_bytes or worker.has_grown_to(rss_bytes):
            settled = worker.settled_bytes >> 20
            log.info("a Blender process has %d MB (%d at first); replacing it", rss_bytes >> 20, settled)
            self.pool.drop(worker)

    def _failed(self, worker: Worker, task: Task, error: ChannelError) -> None:
        """Replace the process; put the scene first in line again, or give up."""
        task.failures.append(worker.describe(error))
        self.pool.drop(worker)
        if len(task.failures) >= self.pool.limits.attempts:
            reasons = "; then ".join(task.failures)
            raise RenderError(
                f"scene {scene_id(task.scene)} could not be rendered in {len(task.failures)} attempts: {reasons}. "
                f"{FULL_CARD if OUT_OF_MEMORY in reasons else SLOW_OR_BROKEN}"
            )
        log.warning("rendering scene %s again: %s", scene_id(task.scene)[:12], task.failures[-1])
        self.waiting.appendleft(task)


def is_only_slow(worker: Worker, task: Task) -> bool:
    """Whether a late render is alive but got little CPU time; it then gets the same time again."""
    now = worker.cpu_s()
    got, total = now - task.last_cpu_s, now - task.first_cpu_s
    if got < MIN_SHARE * task.patience_s or total > task.patience_s:
        return False
    log.info("this machine is busy: a render has used only %.0f s of CPU time; still waiting", total)
    task.last_cpu_s = now
    task.deadline = time.monotonic() + task.patience_s
    return True


def _stop_all(workers: list[Worker], owner: int) -> None:
    if os.getpid() != owner:  # a forked copy of the program does not own the processes
        return
    while workers:
        workers.pop().stop()
