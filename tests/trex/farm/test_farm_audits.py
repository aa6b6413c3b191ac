"""Audits in the queue: the bytes of `trex audit`, whoever does the units, and whoever is lost or killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex, trex_done
from tests.running.farm_pools import ChaosPool, new_worker, work
from tests.running.kills import ended, in_child
from tests.running.waiting import wait_for
from tests.worlds.color_models import NAMED
from tests.worlds.repair_toy import tree
from trex.auditing.probe import CHANGES
from trex.auditing.records import PROBED
from trex.auditing.work import Confirm, Examine
from trex.farm.queue import queue
from trex.farm.queue.entry import Entry
from trex.farm.queue.queued_folder import QUEUED, read_queued
from trex.farm.queue.rebuild import rebuild
from trex.farm.status import RUN_STATUS
from trex.farm.workers import audits
from trex.farm.workers.pool import LocalPool
from trex.farm.workers.task_board import Task, TaskBoard
from trex.farm.workers.tasks import AuditUnit, TaskResult
from trex.runs.folder import FINISHED
from trex.trials.lines import Rows

OPTIONS = (
    "fake", "--preset", "fake", "--confirm-preset", "fake", "--world", "one_cube_without_cubes",
    "--scenes", "10", "--held-out", "9", "--questions", "6", "--tested", "2", "--probed", "1", "--fresh", "2",
)  # fmt: skip
QUEUES = {QUEUED, FINISHED, RUN_STATUS}  # files that the queue adds


@pytest.fixture(scope="module")
def alone(slow: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an audit by one program, and its bank."""
    folder = tmp_path_factory.mktemp("alone")
    assert trex("audit", *OPTIONS, "--bank", folder / "bank", "--out", folder / "audit").exit_code == 0
    return folder


def added(folder: Path, bank: Path, *more: str) -> Entry:
    """The audit, queued below FOLDER/runs."""
    trex_done("queue", "audit", *OPTIONS, *more, "--bank", bank, "--runs", folder / "runs")
    return queue.entries(folder / "runs", ["queued"])[0]


def of_the_audit(run: Path) -> dict[str, bytes]:
    return {name: data for name, data in tree(run).items() if name not in QUEUES}


@pytest.mark.parametrize("size", [1, 3])
def test_the_bytes_are_those_of_one_program(alone: Path, tmp_path: Path, size: int) -> None:
    """With one worker here; and with three that get lost, and answer late, twice and in any order."""
    entry = added(tmp_path, alone / "bank")
    chaos = ChaosPool(new_worker(tmp_path), size, seed=size, loss=0.3)
    assert work(tmp_path, LocalPool(new_worker(tmp_path)) if size == 1 else chaos).done == 1
    assert of_the_audit(tmp_path / "runs" / entry.folder) == tree(alone / "audit")
    assert queue.entry(tmp_path / "runs", entry.id).state == "done"
    if size > 1:
        assert chaos.losses and chaos.doubles and chaos.late


class Recorded(TaskBoard):
    """A board on which the answers lie in a given order."""

    def __init__(self, answers: list[tuple[AuditUnit, TaskResult]]) -> None:
        super().__init__()
        self._answers = answers
        self.open("audit", 0)

    def wait(self, job: str) -> list[tuple[AuditUnit, TaskResult]]:  # type: ignore[override]
        return [self._answers.pop(0)]


def test_rows_stand_in_the_order_of_the_units_and_a_crew_that_takes_them_as_they_come_would_be_caught(
    alone: Path, tmp_path: Path
) -> None:
    """Planted in the order of the answers: the second unit's first, and the first unit's twice."""
    lines = (alone / "audit" / "swept.jsonl").read_text().splitlines()[:16]
    units = [Examine(range(0, 8)), Examine(range(8, 16))]
    answers = {
        at: (AuditUnit(tmp_path, at, unit, ()), TaskResult(tuple(lines[8 * at : 8 * at + 8]), 8, 0.1))
        for at, unit in enumerate(units)
    }
    rows: Rows[audits.T] = Rows()
    crew = audits.FarmCrew(Recorded([answers[1], answers[0], answers[0]]), "audit", tmp_path)
    assert [*crew.do(units, rows)] == [1, 2]  # type: ignore[arg-type]
    assert [row.scene for row in rows.values] == [*range(16)]  # type: ignore[attr-defined]


def test_a_late_answer_to_an_earlier_step_is_ignored(tmp_path: Path) -> None:
    """A worker that was taken for lost answers a unit of the sweep while families are confirmed."""
    board = TaskBoard()
    board.open("audit", 0)
    board.put("audit", [AuditUnit(tmp_path, 0, Examine(range(1)), ())])
    late = board.take()
    assert late is not None
    rows: Rows[audits.T] = Rows()
    crew = audits.FarmCrew(board, "audit", tmp_path)
    step = crew.do([Confirm(0, None, ())], rows)  # type: ignore[arg-type,list-item]
    given: list[Task] = []

    def answer() -> None:
        wait_for(lambda: bool(given) or bool(given.append(board.take()) if board.jobs else None))  # type: ignore[arg-type,func-returns-value]
        board.deliver(late, TaskResult(("not a line",), 0, 0.0))
        board.deliver(given[0], TaskResult((), 0, 0.0))

    board._wake = answer
    assert [*step] == [1] and rows.values == []


def killed_after(folder: Path, log: Path) -> None:
    """Do what is queued, and be killed as soon as this log has a row, which is before it has all."""
    do = audits.FarmCrew.do

    def until(self: audits.FarmCrew, units: object, rows: Rows[audits.T]) -> object:
        for done in do(self, units, rows):  # type: ignore[arg-type]
            if log.exists() and log.stat().st_size:
                os.kill(os.getpid(), signal.SIGKILL)
            yield done

    audits.FarmCrew.do = until  # type: ignore[assignment,method-assign]
    work(folder, LocalPool(new_worker(folder)), lease_s=2.0)


@pytest.mark.process
def test_a_killed_audit_resumes_once_its_lease_has_expired(alone: Path, tmp_path: Path) -> None:
    """kill -9 of the process of the queue and its worker, in the sweep."""
    entry = added(tmp_path, alone / "bank")
    runs, run = tmp_path / "runs", tmp_path / "runs" / entry.folder
    assert ended(in_child(lambda: killed_after(tmp_path, run / "swept.jsonl")))
    assert queue.entry(runs, entry.id).state == "running"
    assert 0 < len((run / "swept.jsonl").read_text().splitlines()) < 19
    assert work(tmp_path, LocalPool(new_worker(tmp_path)), lease_s=2.0).done == 1
    assert queue.entry(runs, entry.id).attempts == 2
    assert of_the_audit(run) == tree(alone / "audit")


@pytest.mark.slow
@pytest.mark.process
def test_families_are_confirmed_and_probed_as_by_one_program(tmp_path: Path) -> None:
    """Of a model that counts brown: killed before its families, then done by three workers that get lost."""
    options = (
        NAMED,
        *OPTIONS[1:],
        "--scenes",
        "40",
        "--held-out",
        "40",
        "--questions",
        "12",
        "--tested",
        "3",
    )
    options = (*options, "--bank", str(tmp_path / "bank"))
    assert trex("audit", *options, "--out", tmp_path / "audit").exit_code == 0
    whole = tree(tmp_path / "audit")
    probed = [PROBED.parse(line, "", "") for line in whole["probed.jsonl"].decode().splitlines()]
    assert whole["tested.jsonl"] and {row.way for row in probed} == {*CHANGES}
    assert {row.fails for row in probed} >= {True, False}
    trex_done("queue", "audit", *options, "--runs", tmp_path / "runs")
    (entry,) = queue.entries(tmp_path / "runs")
    run = tmp_path / "runs" / entry.folder
    assert ended(in_child(lambda: killed_after(tmp_path, run / "fresh.jsonl")))
    assert not (run / "tested.jsonl").exists()
    chaos = ChaosPool(new_worker(tmp_path), 3, seed=3, loss=0.3)
    assert work(tmp_path, chaos, lease_s=2.0).done == 1
    assert of_the_audit(run) == whole


def test_an_audit_is_queued_once_and_survives_the_queue_file(alone: Path, tmp_path: Path) -> None:
    entry = added(tmp_path, alone / "bank")
    runs = tmp_path / "runs"
    again = trex_done("queue", "audit", *OPTIONS, "--bank", alone / "bank", "--runs", runs)
    assert again.stdout.startswith("known") and len(queue.entries(runs)) == 1
    assert read_queued(runs / entry.folder).kind == "audit" and "audit of fake" in entry.question
    (runs / "queue.sqlite").unlink()
    assert [item.id for item in rebuild(runs).entries] == [entry.id]
    other = added(tmp_path, alone / "bank", "--seed", "1", "--priority", "3")
    assert other.id != entry.id and other.priority == 3
    shown = trex_done("queue", "watch", "--once", "--runs", runs).stdout
    assert entry.id[:10] in shown and "queued" in shown


def test_a_model_that_answers_otherwise_ends_it_with_the_reason(
    alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = added(tmp_path, alone / "bank")
    settings = tmp_path / "runs" / entry.folder / "audit.json"
    settings.write_text(
        settings.read_text().replace('"seed": 0', '"seed": 1').replace('"seed":0', '"seed":1')
    )
    assert work(tmp_path, LocalPool(new_worker(tmp_path))).failed == 1
    why = queue.entry(tmp_path / "runs", entry.id).why
    assert "no worker can run it" in why and "other settings (--seed)" in why


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--out", "elsewhere"), "its own folder of the runs folder"),
        (("--searched", "1"), "trex queue add FOLDER/searches/*.toml"),
        (("--processes", "2"), "the workers of trex queue run render"),
        (("--junit", "a.xml"), "from the finished audit"),
        (("--scenes", "0"), "--scenes 0"),
    ],
)
def test_what_no_farm_does_is_refused(tmp_path: Path, option: tuple[str, str], words: str) -> None:
    refused(trex("queue", "audit", *OPTIONS, *option, "--runs", tmp_path / "runs"), words)
    assert not (tmp_path / "runs").exists()
