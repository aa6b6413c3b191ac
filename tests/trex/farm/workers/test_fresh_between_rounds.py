"""Fresh draws are requested between two rounds, while segments of chains are out: none of these is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from tests.running.looks import SMALL, TINY, use_ladder
from tests.running.runs import QUERY, SEARCHES, draws, run, write_query
from trex.farm.workers.engine import FarmEngine
from trex.farm.workers.task_board import TaskBoard
from trex.farm.workers.tasks import PrepareRun, TaskResult, Work, run_task
from trex.finding.find import QuerySource, manifest_of, run_to_end
from trex.runs.folder import create
from trex.runs.record import Record, to_line
from trex.search.engine import InProcess
from trex.search.progress import Silent

pytestmark = pytest.mark.usefixtures("no_reports")


class Desk:
    """Answers some of what is out, in any order, some of it twice; waiting for nothing is an error, not a deadlock."""

    def __init__(self, engine: InProcess, seed: int) -> None:
        self._engine, self._rng = engine, random.Random(seed)
        self._out: list[Work] = []
        self._old: list[tuple[Work, TaskResult]] = []

    def put(self, job: str, works: Sequence[Work]) -> None:
        self._out += works

    def withdraw(self, job: str) -> None:
        self._out, self._old = [], []

    def wait(self, job: str) -> list[tuple[Work, TaskResult]]:
        assert self._out, "it waits for nothing"
        self._rng.shuffle(self._out)
        n = self._rng.randint(1, len(self._out))
        done, self._out = self._out[:n], self._out[n:]
        answers = [(work, self._answer(work)) for work in done]
        self._old += answers
        return [*answers, self._rng.choice(self._old)]

    def _answer(self, work: Work) -> TaskResult:
        assert not isinstance(work, PrepareRun)
        lines = [line for records in run_task(self._engine, work) for line in map(to_line, records)]
        return TaskResult(tuple(lines), len(lines), 0.0)


def farmed(folder: Path, overrides: Sequence[str], seed: int) -> bytes:
    source = QuerySource(QUERY, write_query(folder), tuple(overrides))
    world = source.plan().open()
    place = folder / f"farmed-{seed}"
    with create(place, source.text, manifest_of(world, source.path, source.overrides)) as opened:
        board = cast(TaskBoard, Desk(InProcess(world, opened), seed))
        run_to_end(FarmEngine(board, "job", opened, chains_per_task=1, tasks_ahead=2), opened, Silent())
    return draws(place)


@pytest.mark.parametrize("search", ["bank", "second sample", "surrogate", "spread", "fragile", "noise draws"])
@pytest.mark.parametrize("seed", range(3))
def test_late_doubled_and_disordered_answers_change_no_byte(search: str, seed: int, tmp_path: Path) -> None:
    whole = draws(run(tmp_path, SEARCHES[search], "whole").folder)
    assert farmed(tmp_path, SEARCHES[search], seed) == whole


def test_the_looks_of_a_calibration_are_not_mixed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_ladder(monkeypatch, TINY, TINY + "-too", SMALL)
    from trex.worlds import world

    monkeypatch.setitem(world.WITHOUT_BLENDER, TINY + "-too", (6, 4))
    whole = draws(run(tmp_path, SEARCHES["surrogate"], "whole").folder)
    assert b'"phase":"calibration","chain":1' in whole
    assert farmed(tmp_path, SEARCHES["surrogate"], 0) == whole


def many() -> list[str]:
    """Hits in many rounds, whose fresh draws take in what the chains have made."""
    return ["search.steps=40", "answer=0", "target.kind=threshold", "target.threshold=0.5", "render.fresh=5",
            "search.further=0", "search.control=false"]  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_hits_in_nearly_every_round_change_no_byte_and_nothing_is_waited_for_twice(
    seed: int, tmp_path: Path
) -> None:
    whole = draws(run(tmp_path, many(), "whole").folder)
    assert whole.count(b'"phase":"noise"') > 30
    assert farmed(tmp_path, many(), seed) == whole


def test_an_engine_that_forgets_the_chains_for_fresh_draws_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: a request for fresh draws throws away what the chains have made."""
    real = FarmEngine.draws

    def careless(self: FarmEngine, what: Any, indices: range, most: int) -> Iterator[Sequence[Record]]:
        earlier = self._reassemblies
        self._reassemblies = []
        yield from real(self, what, indices, most)
        self._reassemblies = earlier

    monkeypatch.setattr(FarmEngine, "draws", careless)
    with pytest.raises(AssertionError, match="waits for nothing"):
        _ = [farmed(tmp_path, many(), seed) for seed in range(10)]
