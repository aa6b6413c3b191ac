"""The queue as a state machine: every change is allowed or refused, and two processes never hold one entry."""

from __future__ import annotations

import multiprocessing
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.synchronize import Barrier
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.running.farm_runs import filled, waiting
from trex.farm.queue.entry import Entry, run_path
from trex.farm.queue.queue import (
    LeaseLost,
    cancel,
    claim,
    counts,
    entries,
    entry,
    fail,
    finish,
    heartbeat,
    release,
    retry,
)
from trex.farm.queue.queue_file import QueueDamaged, queue_file, transaction
from trex.farm.queue.queued_folder import CANCELLED, FAILED
from trex.farm.queue.rebuild import rebuild
from trex.foundation.errors import InputError, RunError

LEASE = 10.0


def test_the_highest_priority_goes_first_then_the_oldest(tmp_path: Path) -> None:
    new = [
        waiting(1, 0, 5.0),
        waiting(2, 1, 9.0),
        waiting(3, 1, 8.0),
        waiting(4, 0, 4.0),
        waiting(5, -1, 0.0),
    ]
    runs = filled(tmp_path, *new)
    order = [claimed.id[-1] for _ in new if (claimed := claim(runs, "me", 0.0, LEASE))]
    assert order == ["3", "2", "4", "1", "5"]
    assert [element.id[-1] for element in entries(runs)] == order
    assert claim(runs, "me", LEASE - 0.1, LEASE) is None
    assert heartbeat(runs, [new[0].id], "me", 5.0, LEASE) == {new[0].id}
    again = claim(runs, "you", LEASE, LEASE)
    assert again is not None and (again.id[-1], again.owner, again.attempts) == ("3", "you", 2)
    others = [item.id[-1] for _ in new if (item := claim(runs, "you", LEASE, LEASE))]
    assert others == ["2", "4", "5"]  # the first one's lease was renewed


def test_an_owner_that_was_silent_for_too_long_has_lost_its_entry(tmp_path: Path) -> None:
    runs = filled(tmp_path, waiting(1))
    claim(runs, "me", 0.0, LEASE)
    claim(runs, "you", LEASE, LEASE)
    only = waiting(1).id
    assert heartbeat(runs, [only], "me", LEASE, LEASE) == frozenset()
    for change in (
        lambda: finish(runs, only, "me", 11.0),
        lambda: fail(runs, only, "me", 11.0, "broken"),
        lambda: release(runs, only, "me"),
    ):
        with pytest.raises(LeaseLost, match="running by you"):
            change()
    assert finish(runs, only, "you", 11.0).state == "done"
    assert not (runs / waiting(1).folder / FAILED).exists()


def test_cancel_and_retry_are_all_or_nothing(tmp_path: Path) -> None:
    runs = filled(tmp_path, waiting(1), waiting(2))
    claim(runs, "me", 0.0, LEASE)
    finish(runs, waiting(1).id, "me", 1.0)
    both = [waiting(2).id, waiting(1).id]
    with pytest.raises(InputError, match="is done, only queued or running entries can be cancelled"):
        cancel(runs, both, 2.0)
    assert [item.state for item in entries(runs)] == ["done", "queued"]
    with pytest.raises(InputError, match="only failed or cancelled entries can be retried"):
        retry(runs, both)
    with pytest.raises(InputError, match="no entry 'x'"):
        cancel(runs, [both[0], "x"], 2.0)
    with pytest.raises(InputError, match="several entries begin with '0'"):
        entry(runs, "0")
    assert not (runs / waiting(2).folder / CANCELLED).exists()


def test_the_reason_is_kept_until_it_is_tried_again(tmp_path: Path) -> None:
    runs = filled(tmp_path, waiting(1))
    claim(runs, "me", 0.0, LEASE)
    failed = fail(runs, waiting(1).id, "me", 1.0, "the model is gone")
    mark = runs / failed.folder / FAILED
    assert (failed.state, failed.why, mark.read_text()) == (
        "failed",
        "the model is gone",
        "the model is gone\n",
    )
    again = retry(runs, [failed.id])[0]
    assert (again.state, again.why, again.attempts, mark.exists()) == ("queued", "", 0, False)


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc", "../x", ".farm"])
def test_a_run_folder_never_lies_elsewhere(name: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a folder directly below"):
        run_path(tmp_path, replace(waiting(1), folder=name))


def test_a_run_folder_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "q").symlink_to("/etc")
    with pytest.raises(RunError, match="not a folder directly below"):
        run_path(tmp_path, replace(waiting(1), folder="q"))


def test_the_file_itself_refuses_what_cannot_be(tmp_path: Path) -> None:
    runs = filled(tmp_path, waiting(1))
    for change in (
        "state = 'lost'",
        "state = 'running'",
        "owner = 'me'",
        "attempts = -1",
        "priority = 'high'",
    ):
        db = sqlite3.connect(queue_file(runs))
        with pytest.raises(sqlite3.IntegrityError):
            db.execute(f"UPDATE entries SET {change}")
        db.close()


LOOSE = (
    "CREATE TABLE entries (id, folder, source, question, state, priority, attempts, added, place, began, ended, owner, "
    "expires, why)"
)


@pytest.mark.parametrize(
    ("column", "value"),
    [("added", 1e300), ("added", "x"), ("added", float("inf")), ("began", -1.0), ("folder", "a\0b"), ("folder", 5),
     ("folder", None), ("folder", "../elsewhere"), ("id", None), ("id", b"0" * 16), ("question", None),
     ("state", "zz"), ("priority", "high"), ("owner", 3)],
)  # fmt: skip
def test_a_row_that_no_version_writes_is_damage_and_the_queue_is_rebuilt(
    column: str, value: object, tmp_path: Path
) -> None:
    """Planted bugs: each ended in a traceback, or was listed though it was none of the queue's."""
    runs = filled(tmp_path, waiting(1), waiting(2))
    db = sqlite3.connect(queue_file(runs))
    rows = db.execute("SELECT * FROM entries").fetchall()
    db.execute("DROP TABLE entries")
    db.execute(LOOSE)  # user_version stays 1, but nothing is STRICT
    db.executemany(f"INSERT INTO entries VALUES ({', '.join('?' * len(rows[0]))})", rows)
    db.commit()
    assert [item.id for item in entries(runs)] == [waiting(1).id, waiting(2).id]
    db.execute(f"UPDATE entries SET {column} = ? WHERE place = 1", (value,))
    db.commit()
    db.close()
    with pytest.raises(QueueDamaged, match=rf"an entry's {column} is .*trex queue rebuild"):
        entries(runs)
    if column == "state":
        with pytest.raises(QueueDamaged):
            counts(runs)
    assert rebuild(runs).moved_to is not None
    assert entries(runs) == []  # these folders hold no queued.json


FORK = multiprocessing.get_context("fork")


def meet(together: Barrier) -> None:
    """Wait until the other process is here too, or has ended."""
    with suppress(threading.BrokenBarrierError):
        together.wait(60.0)


def take_all(runs: Path, owner: str, together: Barrier, taken: multiprocessing.Queue[list[str]]) -> None:
    mine = []
    meet(together)
    while item := claim(runs, owner, 0.0, LEASE):
        mine.append(item.id)
        meet(together)
    together.abort()
    taken.put(mine)


def race(runs: Path, together: Barrier) -> list[str]:
    """What two processes claim that begin each claim together."""
    taken = FORK.Queue()
    both = [FORK.Process(target=take_all, args=(runs, name, together, taken)) for name in "ab"]
    for process in both:
        process.start()
    mine, yours = taken.get(timeout=60), taken.get(timeout=60)
    for process in both:
        process.join()
    assert mine and yours
    return [*mine, *yours]


@pytest.mark.process
def test_two_processes_never_get_the_same_entry(tmp_path: Path) -> None:
    new = [waiting(number) for number in range(100)]
    runs = filled(tmp_path, *new)
    assert sorted(race(runs, FORK.Barrier(2))) == [item.id for item in new]


@pytest.mark.process
def test_a_claim_in_two_steps_would_be_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: look first, take afterwards, in two transactions."""
    together = FORK.Barrier(2)

    def careless(runs: Path, owner: str, now: float, lease_s: float) -> Entry | None:
        for item in entries(runs, ["queued"], limit=1):
            meet(together)
            with transaction(runs) as db:
                db.execute(
                    "UPDATE entries SET state = 'running', owner = ?, expires = ? WHERE id = ?",
                    (owner, now + lease_s, item.id),
                )
            return item
        return None

    monkeypatch.setitem(take_all.__globals__, "claim", careless)
    new = [waiting(number) for number in range(5)]
    assert len(race(filled(tmp_path, *new), together)) > len(new)


IDS = [waiting(number).id for number in range(3)]
OWNERS = ("me", "you")


class Machine(RuleBasedStateMachine):
    """The queue beside a model of it that is a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.runs = filled(Path(mkdtemp()), *(waiting(number) for number in range(3)))
        self.now = 0.0
        self.state: dict[str, str] = dict.fromkeys(IDS, "queued")
        self.lease: dict[str, tuple[str, float]] = {}

    @rule(seconds=st.sampled_from([1.0, LEASE]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(owner=st.sampled_from(OWNERS))
    def claims(self, owner: str) -> None:
        free = [text for text in IDS if self.state[text] == "queued" or self._is_silent(text)]
        got = claim(self.runs, owner, self.now, LEASE)
        assert (got.id if got else None) == (free[0] if free else None)
        if got:
            self.state[got.id], self.lease[got.id] = "running", (owner, self.now + LEASE)

    @rule(owner=st.sampled_from(OWNERS))
    def beats(self, owner: str) -> None:
        held = {text for text in IDS if self._holds(text, owner)}
        assert heartbeat(self.runs, IDS, owner, self.now, LEASE) == held
        self.lease |= dict.fromkeys(held, (owner, self.now + LEASE))

    @rule(
        owner=st.sampled_from(OWNERS),
        entry_id=st.sampled_from(IDS),
        how=st.sampled_from(["done", "failed", "queued"]),
    )
    def ends(self, owner: str, entry_id: str, how: str) -> None:
        change: dict[str, Callable[[], Entry]] = {
            "done": lambda: finish(self.runs, entry_id, owner, self.now),
            "failed": lambda: fail(self.runs, entry_id, owner, self.now, "why"),
            "queued": lambda: release(self.runs, entry_id, owner),
        }
        if self._holds(entry_id, owner):
            assert change[how]().state == how
            self.state[entry_id] = how
        else:
            with pytest.raises(LeaseLost):
                change[how]()

    @rule(entry_id=st.sampled_from(IDS))
    def is_cancelled(self, entry_id: str) -> None:
        if self.state[entry_id] in ("queued", "running"):
            cancel(self.runs, [entry_id], self.now)
            self.state[entry_id] = "cancelled"
        else:
            with pytest.raises(InputError):
                cancel(self.runs, [entry_id], self.now)

    @rule(entry_id=st.sampled_from(IDS))
    def is_tried_again(self, entry_id: str) -> None:
        if self.state[entry_id] in ("failed", "cancelled"):
            retry(self.runs, [entry_id])
            self.state[entry_id] = "queued"
        else:
            with pytest.raises(InputError):
                retry(self.runs, [entry_id])

    def teardown(self) -> None:
        rmtree(self.runs)

    @invariant()
    def agrees(self) -> None:
        for element in entries(self.runs):
            assert element.state == self.state[element.id]
            held = self.lease[element.id] if element.state == "running" else (None, None)
            assert (element.owner, element.expires) == held
            names = {item.name for item in (self.runs / element.folder).iterdir()}
            assert (CANCELLED in names, FAILED in names) == (
                element.state == "cancelled",
                element.state == "failed",
            )

    def _holds(self, text: str, owner: str) -> bool:
        return self.state[text] == "running" and self.lease[text][0] == owner

    def _is_silent(self, text: str) -> bool:
        return self.state[text] == "running" and self.lease[text][1] <= self.now


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=25, stateful_step_count=20, suppress_health_check=list(HealthCheck)
)


def linked(runs: Path, item: Entry) -> None:
    """Its run folder lies elsewhere, and a link is in its place."""
    (runs / item.folder).rename(runs.parent / f"elsewhere-{item.id}")
    (runs / item.folder).symlink_to(runs.parent / f"elsewhere-{item.id}")


def test_a_folder_that_cannot_be_marked_leaves_all_others_unmarked(tmp_path: Path) -> None:
    runs = filled(tmp_path / "runs", waiting(1), waiting(2))
    linked(runs, waiting(2))
    with pytest.raises(RunError, match="not a folder directly below"):
        cancel(runs, [waiting(1).id, waiting(2).id], 1.0)
    assert not (runs / waiting(1).folder / CANCELLED).exists()  # else a rebuilt queue would say cancelled
    assert [item.state for item in entries(runs)] == ["queued", "queued"]
    (runs / waiting(2).folder).unlink()
    (runs / waiting(2).folder).write_text("no folder")  # so that the mark cannot be made
    with pytest.raises((OSError, RunError)):
        cancel(runs, [waiting(1).id, waiting(2).id], 1.0)
    assert not (runs / waiting(1).folder / CANCELLED).exists()


def test_an_entry_whose_folder_is_no_longer_ours_can_fail(tmp_path: Path) -> None:
    """Planted bug: the failure to mark it was raised, and ended the whole farm."""
    runs = filled(tmp_path / "runs", waiting(1))
    linked(runs, waiting(1))
    claim(runs, "me", 0.0, LEASE)
    assert fail(runs, waiting(1).id, "me", 1.0, "it is a link").state == "failed"
    assert not list(tmp_path.rglob(FAILED))
