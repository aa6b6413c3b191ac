"""Repairs in the queue: the bytes of `trex repair`, whoever renders, and whoever is lost or killed."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import refused, trex, trex_done
from tests.running.farm_pools import ChaosPool, new_worker, work
from tests.running.kills import ended, in_child
from tests.worlds.repair_toy import tree
from trex.bank.disk import SCENES, bank_root
from trex.farm.queue import queue
from trex.farm.queue.entry import Entry
from trex.farm.queue.queued_folder import QUEUED, read_queued
from trex.farm.queue.rebuild import rebuild
from trex.farm.status import RUN_STATUS
from trex.farm.workers import repairs
from trex.farm.workers.jobs import Dropped, Latest
from trex.farm.workers.pool import LocalPool
from trex.farm.workers.repairs import KEYS, FarmRenderer, run_repair
from trex.farm.workers.task_board import TaskBoard
from trex.farm.workers.tasks import FailureKind, RenderScenes, TaskFailure, TaskResult
from trex.foundation.errors import RunError
from trex.foundation.progress import Progress
from trex.render.picture import Picture
from trex.repair.scenes import bench
from trex.repair.steps import Folder
from trex.runs.folder import FINISHED
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene

SETTINGS = (
    "generator.look=fake-small", "generator.deciding=fake", "identify.seeds=25", "identify.draws=1",
    "identify.step=0.03", "identify.held_out=3", "identify.validation=3", "label.pictures=5", "correct.most=1",
    "correct.lambdas=[0.0, 1.0]", "correct.seeds=1", "correct.epochs=1", "correct.pictures=2", "correct.choose=2",
    "correct.deciding=2", "correct.questions=2", "correct.loss=1.0",
)  # fmt: skip
SET = tuple(word for setting in SETTINGS for word in ("--set", setting))
QUEUES = {QUEUED, FINISHED, RUN_STATUS, KEYS}  # files that the queue adds


@pytest.fixture(scope="module", autouse=True)
def untuned() -> Iterator[None]:
    """Models are asked and judged, and not tuned: that is no work of the farm."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "tune_percept", lambda percept, *given, **settings: percept)
        yield


@pytest.fixture(scope="module")
def alone(slow: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a repair by one program."""
    folder = tmp_path_factory.mktemp("alone") / "repair"
    trex_done("repair", "identify", "clevr", *SET, "--out", folder)
    for step in ("distill", "label", "correct", "report"):
        trex_done("repair", step, folder)
    return of_the_repair(folder)


@pytest.fixture(autouse=True)
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has a bank of its own without pictures; its scenes are those that were drawn before."""
    drawn = bank_root() / SCENES
    monkeypatch.setenv("TREX_BANK", str(tmp_path / "bank"))
    if drawn.is_dir():
        shutil.copytree(drawn, tmp_path / "bank" / SCENES)


def added(folder: Path, *more: str) -> Entry:
    """The repair, queued below FOLDER/runs."""
    trex_done("queue", "repair", "clevr", *SET, *more, "--runs", folder / "runs")
    return queue.entries(folder / "runs", ["queued"])[0]


def of_the_repair(run: Path) -> dict[str, bytes]:
    """The files without those of the queue, and without the folder's name on the page."""
    found = {name: data for name, data in tree(run).items() if name not in QUEUES}
    return {name: data.replace(str(run).encode(), b"FOLDER") for name, data in found.items()}


def killed_in_render(folder: Path, number: int) -> None:
    """Do what is queued, and be killed when so many batches are rendered: before the next one is."""
    render, calls = FarmRenderer.render, count()

    def until(self: FarmRenderer, zs: Sequence[Scene]) -> list[Picture]:
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return render(self, zs)

    FarmRenderer.render = until  # type: ignore[method-assign]
    work(folder, LocalPool(new_worker(folder)), lease_s=2.0)


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.usefixtures("one_thread")
def test_the_bytes_are_those_of_one_program_whoever_is_killed_or_lost(
    alone: dict[str, bytes], bank: None, tmp_path: Path
) -> None:
    """kill -9 of the queue's process in three steps; then three workers get lost, and answer late and twice."""
    entry = added(tmp_path)
    runs, run = tmp_path / "runs", tmp_path / "runs" / entry.folder
    for number, attempts in ((2, 1), (2, 2), (1, 3)):
        assert ended(in_child(lambda number=number: killed_in_render(tmp_path, number)))  # type: ignore[misc]
        assert queue.entry(runs, entry.id).attempts == attempts
    chaos = ChaosPool(new_worker(tmp_path), 3, seed=3, loss=0.3)
    assert work(tmp_path, chaos, lease_s=2.0).done == 1, queue.entry(runs, entry.id).why
    assert chaos.losses and chaos.doubles and chaos.late
    found = of_the_repair(run)
    assert found.keys() == alone.keys() and [name for name in found if found[name] != alone[name]] == []
    assert queue.entry(runs, entry.id).state == "done" and (run / "report.html").exists()
    rendered = [name for name in found if name.startswith("cache/")]
    assert len(rendered) > 20 and len(tree(tmp_path / "bank")) > 25


def test_a_repair_is_queued_once_and_survives_the_queue_file(tmp_path: Path) -> None:
    entry = added(tmp_path)
    runs = tmp_path / "runs"
    again = trex_done("queue", "repair", "clevr", *SET, "--runs", runs)
    assert again.stdout.startswith("known") and len(queue.entries(runs)) == 1
    assert read_queued(runs / entry.folder).kind == "repair" and entry.question == "repair of shipped"
    (runs / "queue.sqlite").unlink()
    assert [item.id for item in rebuild(runs).entries] == [entry.id]
    other = added(tmp_path, "--set", "seed=7", "--priority", "3")
    assert other.id != entry.id and other.priority == 3


def rendering(run: Path, key: str) -> RenderScenes:
    return RenderScenes(run, 0, "fake-small", key, (ScenePrior().sample(np.random.default_rng(1)),))


def test_a_stop_reaches_a_repair_that_tunes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: Ctrl-C and `trex queue cancel` waited until every model was tuned, which asks for no picture."""
    entry, board, steps = added(tmp_path), TaskBoard(), []
    board.open(entry.id, 0)

    def tuned(folder: Folder, loaded: object, progress: Progress) -> None:
        for step in range(3):
            progress("steps of this model", step, 3)
            steps.append(step)
            board.end(entry.id, Dropped())

    monkeypatch.setattr(repairs, "open_scenes", lambda *given, **settings: nullcontext())
    monkeypatch.setattr(repairs, "identify", tuned)
    with pytest.raises(Dropped):
        run_repair(board, entry.id, tmp_path / "runs" / entry.folder, 1, Latest())
    assert steps == [0]


def test_a_worker_that_renders_otherwise_is_refused_and_a_damaged_picture_is_named(tmp_path: Path) -> None:
    worker = new_worker(tmp_path)
    answer = worker.do(rendering(tmp_path, "another key"))
    assert isinstance(answer, TaskFailure) and answer.kind is FailureKind.INCOMPATIBLE
    assert "not another key" in answer.why
    unknown = worker.do(RenderScenes(tmp_path, 0, "dim", "", ()))
    assert isinstance(unknown, TaskFailure) and unknown.kind is FailureKind.INCOMPATIBLE
    board = TaskBoard()
    board.open("repair", 0)
    scenes = rendering(tmp_path, "").scenes

    def answered() -> None:
        while board.jobs and (task := board.take()) is not None:
            answer = worker.do(task.work)
            assert isinstance(answer, TaskResult)
            key, *lines = answer.lines
            board.deliver(task, replace(answer, lines=(key, *(line[:-8] for line in lines))))

    board._wake = answered
    with pytest.raises(RunError, match=r"a worker's picture of .* is damaged"):
        FarmRenderer(board, "repair", tmp_path, "fake-small").render(scenes)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("mnist",), "renders nothing, so no farm is needed: trex repair identify mnist"),
        (("clevr", "--set", "model.name=none.safetensors"), "does not exist"),
        (("clevr", "--set", "identify.runs=['nowhere']"), "is not a run folder"),
        (("clevr", "--set", "identify.runs=['~/no', 'none']"), str(Path.home() / "no")),
        (("clevr", "--set", "identify.sedes=3"), "did you mean 'seeds'"),
    ],
)
def test_what_no_farm_does_is_refused(tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    refused(trex("queue", "repair", *words, "--runs", tmp_path / "runs"), why)
    assert not (tmp_path / "runs").exists()
