"""Who gets which work: priorities, lost workers, errors, refusals, cancelled searches."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from tests.running.waiting import wait_for
from trex.farm.workers.pool import Answered, Inbox, IncompatibleVersion, Joined, Lost, PoolFailed, WorkAdded
from trex.farm.workers.scheduler import MAX_ATTEMPTS, MAX_LOSSES, Scheduler
from trex.farm.workers.task_board import Task, TaskBoard
from trex.farm.workers.tasks import Answer, DrawSegment, FailureKind, TaskFailure, TaskResult, Work
from trex.foundation.errors import InputError, RenderError, RunError
from trex.foundation.files import DiskFullError
from trex.runs.record import PRIOR
from trex.search.engine import Independent

DONE = TaskResult(("{}",), 1, 0.1)


def piece(job: str, number: int = 0) -> Work:
    return DrawSegment(Path(job), Independent(PRIOR), range(number, number + 1))


class Bench:
    """A scheduler whose workers do nothing until they are told to answer."""

    chains_per_task = 1

    def __init__(self, *workers: str) -> None:
        self.size = len(workers)
        self.inbox = Inbox()
        self.board = TaskBoard(lambda: self.inbox.put(WorkAdded()))
        self.given: dict[str, Task] = {}
        self.scheduler = Scheduler(self.board, self, self.inbox)
        for worker in workers:
            self.scheduler.handle(Joined(worker, "here", 1))

    def start(self, inbox: Inbox) -> None: ...
    def check(self) -> None: ...
    def close(self) -> None: ...

    def submit(self, worker: str, task: Task) -> None:
        assert worker not in self.given, "a worker does one piece of work at a time"
        self.given[worker] = task

    def job(self, name: str, *, priority: int = 0, pieces: int = 1) -> None:
        self.board.open(name, priority)
        self.board.put(name, [piece(name, number) for number in range(pieces)])

    def turn(self) -> dict[str, str]:
        """Hand out; which job each worker is on."""
        self.scheduler.hand_out()
        return {worker: task.job for worker, task in self.given.items()}

    def answer(self, worker: str, answer: Answer = DONE) -> Task:
        task = self.given.pop(worker)
        self.scheduler.handle(Answered(worker, task, answer))
        return task

    def lose(self, worker: str) -> Task:
        task = self.given.pop(worker)
        self.scheduler.handle(Lost(worker, "kill -9"))
        return task

    def end_of(self, job: str) -> Exception:
        with pytest.raises(Exception) as caught:
            self.board.wait(job)
        return caught.value


def test_the_higher_priority_goes_first_from_the_next_segment_on() -> None:
    bench = Bench("a")
    bench.job("low", pieces=5)
    assert bench.turn() == {"a": "low"}
    bench.job("high", priority=1)
    assert bench.turn() == {"a": "low"}, "what runs is not interrupted"
    bench.answer("a")
    assert bench.turn() == {"a": "high"}
    bench.answer("a")
    assert bench.turn() == {"a": "low"}
    bench.board.open("later", 0)
    bench.board.put("later", [piece("later")])
    bench.board.set_priority("later", 7)
    bench.answer("a")
    assert bench.turn() == {"a": "later"}


def test_a_worker_stays_with_its_query() -> None:
    """Its world is open there."""
    bench = Bench("a", "b")
    bench.job("one", pieces=1)
    bench.job("two", pieces=3)
    bench.board.put("one", [piece("one", number) for number in range(1, 3)])
    assert bench.turn() == {"a": "one", "b": "one"}
    bench.answer("a")
    bench.answer("b")
    assert bench.turn() == {"a": "one", "b": "two"}
    bench.answer("b")
    assert bench.turn()["b"] == "two"


def test_a_lost_workers_piece_goes_to_another_before_all_else() -> None:
    bench = Bench("a", "b")
    bench.job("one", pieces=5)
    bench.turn()
    lost = bench.lose("a")
    bench.answer("b")
    bench.turn()
    assert bench.given["b"] is lost
    assert bench.scheduler.lost == 1


def test_an_answer_that_comes_twice_frees_no_worker_twice() -> None:
    bench = Bench("a")
    bench.job("one", pieces=3)
    bench.turn()
    task = bench.answer("a")
    bench.turn()
    bench.scheduler.handle(Answered("a", task, DONE))
    bench.turn()  # submit would find the worker at work
    assert bench.scheduler.slots["a"].tasks_done == 1


@pytest.mark.parametrize(
    ("kind", "ends"), [(FailureKind.ERROR, RenderError), (FailureKind.DISK_FULL, DiskFullError)]
)
def test_a_piece_that_fails_is_tried_again_and_then_ends_its_query_alone(
    kind: FailureKind, ends: type[Exception]
) -> None:
    bench = Bench("a")
    bench.job("bad")
    bench.job("good", pieces=2)
    for _ in range(MAX_ATTEMPTS):
        assert bench.turn() == {"a": "bad"}
        bench.answer("a", TaskFailure(kind, "the lamp is broken"))
    assert bench.turn() == {"a": "good"}
    error = bench.end_of("bad")
    assert type(error) is ends and "the lamp is broken" in str(error)
    bench.answer("a")
    assert [result for _, result in bench.board.wait("good")] == [DONE]


def test_a_piece_that_takes_every_worker_with_it_ends_its_query() -> None:
    bench = Bench("w0")
    bench.job("bad")
    for number in range(MAX_LOSSES):
        bench.turn()
        bench.lose(f"w{number}")
        bench.scheduler.handle(Joined(f"w{number + 1}", "here", 1))
    assert "workers were lost" in str(bench.end_of("bad"))


def test_a_mistake_in_the_query_is_not_tried_again() -> None:
    bench = Bench("a")
    bench.job("bad")
    bench.turn()
    bench.answer("a", TaskFailure(FailureKind.INVALID_QUERY, "shape 'cone' is not known"))
    assert isinstance(bench.end_of("bad"), InputError)


def test_a_worker_with_another_version_is_refused_and_others_carry_on() -> None:
    bench = Bench("old", "new")
    bench.job("one")
    assert bench.turn() == {"old": "one"}
    bench.answer("old", TaskFailure(FailureKind.INCOMPATIBLE, "the renderer was A, now it is B"))
    assert bench.turn() == {"new": "one"}
    bench.answer("new")
    assert bench.board.wait("one")


def test_a_query_that_every_worker_refuses_ends_with_the_reason() -> None:
    bench = Bench("a", "b")
    bench.job("one")
    for _ in "ab":
        (worker,) = bench.turn()
        bench.answer(worker, TaskFailure(FailureKind.INCOMPATIBLE, "the renderer was A, now it is B"))
    assert "the renderer was A" in str(bench.end_of("one"))


def test_a_query_that_is_tried_again_gets_every_worker_again() -> None:
    """Planted bug: a refusal was kept for ever, so that a retried query waited without end."""
    bench = Bench("a")
    bench.job("one")
    bench.turn()
    bench.answer("a", TaskFailure(FailureKind.INCOMPATIBLE, "the weights are gone"))
    assert bench.turn() == {}
    bench.end_of("one")
    bench.board.close("one")
    bench.job("one")
    assert bench.turn() == {"a": "one"}


def test_a_refusal_of_before_does_not_count_against_a_retried_query() -> None:
    """Planted bug: a worker that was busy kept its old refusal, and the query ended though it was not asked again."""
    bench = Bench("a", "b")
    bench.job("one", pieces=2)
    bench.turn()
    for worker in "ab":
        bench.answer(worker, TaskFailure(FailureKind.INCOMPATIBLE, "the weights are gone"))
    bench.end_of("one")
    bench.board.close("one")
    bench.job("other", priority=1)
    (busy,) = bench.turn()
    bench.job("one")
    (other,) = set(bench.turn()) - {busy}
    bench.answer(other, TaskFailure(FailureKind.INCOMPATIBLE, "the weights are gone here"))
    bench.answer(busy)
    assert bench.turn() == {busy: "one"}


@pytest.mark.parametrize("last", ["a worker of another version", "a refusal"])
def test_a_query_ends_whichever_worker_is_the_last_that_cannot_run_it(last: str) -> None:
    """Planted bug: after a refusal it waited for ever for a worker that turned out to have another version."""
    bench = Bench("a")
    bench.size = 2
    bench.job("one")
    assert bench.turn() == {"a": "one"}
    refusal = TaskFailure(FailureKind.INCOMPATIBLE, "the renderer was A, now it is B")
    if last == "a refusal":
        bench.scheduler.handle(IncompatibleVersion("b", "numpy is 3, here it is 1"))
        bench.answer("a", refusal)
    else:
        bench.answer("a", refusal)
        bench.job("other")
        assert bench.turn() == {"a": "other"}, "another query goes on"
        bench.scheduler.handle(IncompatibleVersion("b", "numpy is 3, here it is 1"))
        bench.answer("a")
        assert bench.board.wait("other")
    assert bench.board.take() is None, "nothing waits for another worker"
    assert "the renderer was A" in str(bench.end_of("one"))


def test_no_fit_worker_at_all_is_an_error() -> None:
    bench = Bench()
    bench.size = 2
    bench.scheduler.handle(IncompatibleVersion("a", "numpy is 3, here it is 1"))
    with pytest.raises(RunError, match="numpy is 3"):
        bench.scheduler.handle(IncompatibleVersion("b", "numpy is 3, here it is 1"))
    with pytest.raises(RunError, match="gone"):
        bench.scheduler.handle(PoolFailed(RunError("the head is gone")))


def test_a_cancelled_search_ends_with_its_present_segment() -> None:
    bench = Bench("a")
    bench.job("one", pieces=5)
    bench.turn()
    bench.board.end("one", KeyError("cancelled"))
    assert isinstance(bench.end_of("one"), KeyError)
    bench.answer("a")
    assert bench.turn() == {}


def test_what_was_laid_down_before_a_withdrawal_is_not_wanted() -> None:
    """The search has stopped there: its next phase must not be given what was made for the last."""
    bench = Bench("a", "b")
    bench.job("one", pieces=2)
    bench.turn()
    bench.board.withdraw("one")
    bench.board.put("one", [piece("one", 7)])
    bench.answer("a")
    bench.lose("b")
    assert bench.turn() == {"a": "one"}
    assert bench.given["a"].work == piece("one", 7)
    bench.answer("a")
    assert [work for work, _ in bench.board.wait("one")] == [piece("one", 7)]
    bench.turn()
    assert not bench.given


def test_a_search_that_waits_is_woken() -> None:
    bench = Bench("a")
    bench.job("one")
    bench.turn()
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.extend(bench.board.wait("one")))
    thread.start()
    wait_for(lambda: bool(bench.board._changed._waiters))  # type: ignore[attr-defined]
    bench.answer("a")
    thread.join(timeout=60)
    assert len(found) == 1
