"""`trex queue` as it is typed, and the queue that comes back from the run folders."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace as Namespace

import pytest
from typer.testing import Result

from tests.running.command_line import trex
from tests.running.kills import ended, in_child
from tests.running.runs import QUERY, find, write_query
from trex.farm.queue import add as queue_add
from trex.farm.queue import queue, rebuild
from trex.farm.queue.entry import Entry
from trex.farm.queue.queue_file import QueueDamaged, queue_file, reading, transaction
from trex.farm.queue.queued_folder import CANCELLED, FAILED, QUEUED, open_queued, read_queued
from trex.farm.queue.requests import QueueRequest, queue_requests
from trex.farm.queue.sweep import combinations
from trex.farm.workers.worlds import IncompatibleWorker, Worlds
from trex.finding.find import manifest_of
from trex.foundation.errors import InputError, RunError
from trex.foundation.files import DiskFullError
from trex.query.shipped import QUERIES
from trex.runs.folder import FINISHED, REPORT, RunFolder, begin, is_run, open_run
from trex.runs.trust import check_made_here, named_code

SEEDS = "search.seed=0..3"


def queue_command(runs: Path, command: str, *arguments: object, fails: str = "") -> Result:
    """`trex queue COMMAND`; where it fails, with this in its one line."""
    words = ["queue", command, *map(str, arguments), "--runs", str(runs)]
    result = trex(*words)
    assert result.exit_code == (2 if fails else 0), result.output
    if fails:
        assert fails in result.stderr and result.stderr.count("\n") == 1
    return result


def added(runs: Path, *arguments: object) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(queue_command(runs, "add", *arguments, "--json").stdout)
    return found


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Four queries that wait."""
    queue_command(tmp_path / "runs", "add", write_query(tmp_path), "--sweep", SEEDS)
    return tmp_path / "runs"


def states(runs: Path) -> dict[str, str]:
    return {entry.id: entry.state for entry in queue.entries(runs)}


def worked_on(runs: Path, entry: Entry, end: str = "") -> None:
    """As a worker would: claimed, and ended so."""
    while (got := queue.claim(runs, "worker", 10.0, 60.0)) and got.id != entry.id:
        pass
    if end == "done":
        (runs / entry.folder / FINISHED).write_text("12 draws\n")
        (runs / entry.folder / REPORT).write_text("<p>the report</p>")
        queue.finish(runs, entry.id, "worker", 20.0)
    if end == "failed":
        queue.fail(runs, entry.id, "worker", 20.0, "the model is gone")


def test_adding_makes_run_folders_and_says_what_is_known(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    query = write_query(tmp_path)
    result = queue_command(
        runs, "add", query, "--sweep", "search.seed=1,2", "--sweep", "target.width=0.05,0.1", "--priority", 3
    )
    assert result.stdout.splitlines()[-1].startswith("4 queued, 0 already in the queue;")
    every = queue.entries(runs)
    assert [read_queued(runs / entry.folder).overrides for entry in every] == [
        (f"search.seed={seed}", f"target.width={width}") for seed in (1, 2) for width in (0.05, 0.1)
    ]
    assert {entry.priority for entry in every} == {3}
    assert all(entry.folder == f"query-{entry.id}" and not is_run(runs / entry.folder) for entry in every)
    again = added(runs, query, "--sweep", "search.seed=2,3")
    assert [item["is_new"] for item in again] == [False, True]
    assert len(queue.entries(runs)) == 5
    assert sorted(item.name for item in runs.iterdir() if item.is_dir()) == sorted(
        entry.folder for entry in queue.entries(runs)
    )


def test_the_same_query_in_other_words_is_the_same(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text(QUERY + 'kernel = "block"  # as it is anyway\n')
    (item,) = added(runs, tmp_path / "other.toml", "--set", "search.seed=2")
    assert not item["is_new"]
    (tmp_path / "other.toml").write_text(QUERY.replace("steps = 12", "steps = 13"))
    assert added(runs, tmp_path / "other.toml")[0]["is_new"]


def test_a_shipped_query_is_queued_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the name that the error offers is refused, or is queued as a file of the current folder."""
    monkeypatch.chdir(tmp_path)
    fake = ("--model", "fake", "--set", "render.preset=fake")
    (by_name,) = added(tmp_path / "runs", "demo", *fake)
    (by_path,) = added(tmp_path / "runs", QUERIES / "demo.toml", *fake)
    assert (by_name["is_new"], by_path["is_new"]) == (True, False)
    assert by_name["id"] == by_path["id"]


def test_a_changed_shape_card_is_another_query(tmp_path: Path) -> None:
    (tmp_path / "box.obj").write_text(OBJ)
    card = 'name = "box"\nmesh = "box.obj"\noutline = "mesh"\n'
    (tmp_path / "box.toml").write_text(card)
    arguments = (write_query(tmp_path), "--set", 'scene.introduce=["box.toml"]')
    first, again = added(tmp_path / "runs", *arguments), added(tmp_path / "runs", *arguments)
    assert [first[0]["is_new"], again[0]["is_new"]] == [True, False]
    (tmp_path / "box.obj").write_text(OBJ.replace("v 1 1 1", "v 1 1 0.5"))
    assert added(tmp_path / "runs", *arguments)[0]["is_new"]


OBJ = (
    "\n".join(f"v {x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
    + "\nf 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
)


def test_a_worker_opens_a_world_anew_whose_files_have_changed(tmp_path: Path) -> None:
    """Planted bug: open worlds were known by the query's text alone, and a run got the old shape's scores."""
    (tmp_path / "box.toml").write_text('name = "box"\nmesh = "box.obj"\noutline = "mesh"\n')
    arguments = (write_query(tmp_path), "--set", 'scene.introduce=["box.toml"]')
    worlds, runs, built = Worlds(None), tmp_path / "runs", []
    for text in (OBJ, OBJ.replace("v 1 1 1", "v 1 1 0.5")):
        (tmp_path / "box.obj").write_text(text)
        entry_id = str(added(runs, *arguments)[0]["id"])
        run = runs / queue.entry(runs, entry_id).folder
        manifest = worlds.begin(run)
        expected = open_queued(run).open()
        assert (manifest.made, manifest.facts.cards) == (expected.made, expected.plan.cards)
        begin(run, read_queued(run).text, manifest).close()
        assert worlds.engine(run)
        built.append((run, manifest.made))
    assert built[0][1].shapes != built[1][1].shapes
    with pytest.raises(IncompatibleWorker, match="shape box was"):
        worlds.engine(built[0][0])  # the first run's shape is gone
    worlds.close()


def test_a_queued_folder_becomes_the_run_that_find_would_make(runs: Path, tmp_path: Path) -> None:
    entry = queue.entries(runs)[1]
    path, queued = runs / entry.folder, read_queued(runs / entry.folder)
    world = open_queued(path).open()
    begin(path, queued.text, manifest_of(world, Path(queued.source), queued.overrides)).close()
    plain = find(tmp_path / "query.toml", ["search.seed=1"], tmp_path / "plain")
    ours, theirs = (open_run(each, for_writing=False) for each in (path, plain.folder))
    assert ours.query_text == theirs.query_text
    assert ours.manifest == theirs.manifest.model_copy(update={"source": str(tmp_path / "query.toml")})
    assert (path / "draws.jsonl").read_bytes() == b""


def test_list_and_show(runs: Path) -> None:
    every = queue.entries(runs)
    worked_on(runs, every[0], "failed")
    lines = queue_command(runs, "list").stdout.splitlines()
    assert len(lines) == 1 + 4 + 1 and lines[-1] == "total: 3 queued, 1 failed"
    assert lines[1].startswith(every[0].id[:10]) and lines[1].endswith("the model is gone")
    assert len(queue_command(runs, "list", "--state", "failed").stdout.splitlines()) == 3
    assert len(json.loads(queue_command(runs, "list", "--limit", 2, "--json").stdout)) == 2
    queue_command(runs, "list", "--state", "lost", fails="state 'lost' is not known (queued, running")
    shown = queue_command(runs, "show", every[1].id[:6]).stdout
    assert "set       search.seed=1" in shown and f"run       {runs / every[1].folder}" in shown
    assert json.loads(queue_command(runs, "show", every[0].id, "--json").stdout)["why"] == "the model is gone"
    queue_command(runs, "show", "nothing", fails="no entry 'nothing'")
    queue_command(runs / "none", "show", "1", fails="has no queue")
    (runs.parent / "empty").mkdir()
    assert "has no queue; add a query" in queue_command(runs.parent / "empty", "list").stdout
    worked = trex("queue", "run", "--until-empty", "--runs", runs / "none")
    assert worked.exit_code == 2 and "is not a folder; queue a query first" in worked.stderr
    assert not (runs / "none").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        ["watch", "--once"],
        ["cancel", "--all"],
        ["priority", "--to=1", "1"],
        ["retry", "--failed"],
        ["clean"],
    ],
)
def test_what_is_no_runs_folder_is_refused(runs: Path, words: list[str]) -> None:
    """Planted bug: a misspelt folder was an empty queue."""
    (runs / "file").write_text("")
    for place in (runs / "file", runs / "none"):
        queue_command(place, *words, fails=f"{place} is not a folder; queue a query first")
    assert not (runs / "none").exists()


@pytest.mark.parametrize("words", [["cancel"], ["priority", "--to=1"], ["retry"]])
def test_an_empty_id_is_called_empty(tmp_path: Path, words: list[str]) -> None:
    queue_command(tmp_path, "add", write_query(tmp_path))
    queue_command(tmp_path, *words, "", fails="the ID is empty")


def test_what_is_queued_is_run_by_the_command_that_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    elsewhere = tmp_path / "two words"
    for runs, ending in (
        (elsewhere, f"trex queue run --runs '{elsewhere}'"),
        (Path("runs"), "trex queue run"),
    ):
        assert (
            queue_command(runs, "add", write_query(tmp_path)).stdout.splitlines()[-1].endswith(f": {ending}")
        )
    queue_command(elsewhere, "cancel", fails=f"trex queue list --runs '{elsewhere}'")


def test_what_ended_is_led_on_by_the_commands_that_are_printed(tmp_path: Path) -> None:
    """Planted bug: a worker was advised for a cancelled query, for which it waits without end."""
    runs = tmp_path / "two words"
    queue_command(runs, "add", write_query(tmp_path))
    (entry,) = queue.entries(runs)
    queue_command(runs, "cancel", entry.id)
    told = queue_command(runs, "add", tmp_path / "query.toml").stdout
    retry = shlex.split(told.partition("was cancelled: ")[2].partition("; then run them: ")[0])
    assert trex(*retry[1:]).exit_code == 0 and states(runs) == {entry.id: "queued"}
    worked_on(runs, entry, "failed")
    queue_command(runs, "priority", entry.id, "--to", 1, fails=f"trex queue retry ID --runs '{runs}'")
    queue_command(runs, "cancel", entry.id, fails=f"trex queue clean --failed --runs '{runs}' removes")
    assert trex("queue", "clean", "--failed", "--runs", runs).exit_code == 0 and not states(runs)


def test_a_read_only_folder_is_read_without_files_next_to_the_queue(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests run as root, too, for whom no folder is read-only. Planted bug: SQLite was to make files there."""
    before = queue.entries(runs)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with reading(runs) as db:
        assert [path.name for path in runs.iterdir() if path.name.startswith("queue.sqlite")] == [
            "queue.sqlite"
        ]
        assert db.execute("SELECT count(*) FROM entries").fetchone()[0] == 4
    assert queue.entries(runs) == before
    assert queue_command(runs, "list").stdout.endswith("total: 4 queued\n")


def test_cancel_retry_and_clean(runs: Path) -> None:
    done, failed, cancelled, waiting = queue.entries(runs)
    worked_on(runs, done, "done")
    queue.claim(runs, "worker", 10.0, 60.0)
    queue.fail(runs, failed.id, "worker", 20.0, "no reason")
    queue_command(runs, "cancel", cancelled.id[:8])
    queue_command(runs, "cancel", done.id, fails="is done, only queued or running entries can be cancelled")
    queue_command(runs, "cancel", fails="no ID given")
    queue_command(runs, "retry", waiting.id, fails="only failed or cancelled entries can be retried")
    queue_command(runs, "retry", "--failed")
    assert [states(runs)[entry.id] for entry in (done, failed, cancelled, waiting)] == [
        "done", "queued", "cancelled", "queued",
    ]  # fmt: skip
    assert "2 removed from the queue" in queue_command(runs, "clean").stdout
    assert (runs / done.folder / QUEUED).exists() and (runs / cancelled.folder / CANCELLED).exists()
    known = added(runs, runs.parent / "query.toml", "--sweep", SEEDS)
    assert [item["is_new"] for item in known] == [False] * 4
    assert [item["state"] for item in known] == ["done", "queued", "cancelled", "queued"]
    queue_command(runs, "cancel", "--all")
    assert "4 removed" in queue_command(runs, "clean", "--delete-runs").stdout
    assert [item.name for item in runs.iterdir() if item.is_dir()] == []


def test_a_priority_is_changed_in_the_queue_and_in_the_folder(runs: Path) -> None:
    first, second, third, done = queue.entries(runs)
    finished = queue.claim(runs, "worker", 10.0, 60.0)
    assert finished == replace(first, state="running", owner="worker", expires=70.0, attempts=1, began=10.0)
    text = queue_command(runs, "priority", done.id[:8], third.id, "--to", 7).stdout
    assert "2 set to priority 7" in text
    assert [entry.id for entry in queue.entries(runs)] == [third.id, done.id, first.id, second.id]
    queue_command(runs, "priority", first.id, "--to", -3)  # what runs, keeps its lease
    assert queue.entry(runs, first.id) == replace(finished, priority=-3)
    before = read_queued(runs / done.folder)
    assert before.priority == 7 and open_queued(runs / done.folder)
    queue_file(runs).unlink()
    queue_command(runs, "rebuild")
    assert [entry.priority for entry in queue.entries(runs)] == [7, 7, 0, -3]
    queue_command(runs, "priority", "--all", "--to", 1)
    assert {entry.priority for entry in queue.entries(runs)} == {1}
    worked_on(runs, queue.entry(runs, done.id), "done")
    queue_command(
        runs,
        "priority",
        done.id,
        "--to",
        2,
        fails="is done, only queued or running entries can be reprioritized",
    )
    queue_command(runs, "priority", "--to", 2, fails="no ID given")
    (runs / third.folder / QUEUED).write_text("{")
    queue_command(runs, "priority", second.id, third.id, "--to", 2, fails="is damaged")
    assert (
        queue.entry(runs, second.id).priority == read_queued(runs / second.folder).priority == 1
    )  # all or none


@pytest.mark.parametrize("target", ["queue.sqlite", "nowhere"])
def test_a_queue_file_that_is_a_link_to_nothing_is_told_and_rebuilt(runs: Path, target: str) -> None:
    before = {entry.id for entry in queue.entries(runs)}
    for path in runs.glob("queue.sqlite*"):
        path.unlink()
    (runs / "queue.sqlite").symlink_to(target)
    with pytest.raises(RunError, match="queue rebuild"):
        queue.entries(runs)
    queue_command(runs, "rebuild")
    assert {entry.id for entry in queue.entries(runs)} == before and not (runs / "nowhere").exists()


def test_a_source_with_a_nul_is_left_out_of_a_rebuilt_queue_and_named(runs: Path) -> None:
    entry = queue.entries(runs)[0]
    place = runs / entry.folder / QUEUED
    place.write_text(json.dumps({**json.loads(place.read_text()), "source": "\0"}))
    result = queue_command(runs, "rebuild")
    assert "source" in result.stderr and entry.id not in {left.id for left in queue.entries(runs)}


def test_clean_deletes_nothing_but_run_folders_of_the_queue(runs: Path, tmp_path: Path) -> None:
    used, strange, linked, _ = queue.entries(runs)
    queue_command(runs, "cancel", "--all")
    begun = begin_run(runs / used.folder)
    (runs / strange.folder / QUEUED).unlink()
    (runs / linked.folder).rename(tmp_path / "elsewhere")
    (runs / linked.folder).symlink_to(tmp_path / "elsewhere")
    result = queue_command(runs, "clean", "--delete-runs")
    assert "1 removed" in result.stdout
    for reason in ("another process is writing", "no queued.json", "not a folder directly below"):
        assert reason in result.stderr
    assert (tmp_path / "elsewhere" / QUEUED).exists() and (runs / strange.folder).exists()
    begun.close()
    assert "1 removed" in queue_command(runs, "clean", "--delete-runs").stdout


def begin_run(path: Path) -> RunFolder:
    queued = read_queued(path)
    world = open_queued(path).open()
    return begin(path, queued.text, manifest_of(world, Path(queued.source), queued.overrides))


@pytest.mark.parametrize("damage", ["deleted", "zeros", "cut", "another file", "page"])
def test_the_queue_comes_back_from_the_run_folders(damage: str, runs: Path) -> None:
    queue_command(runs, "add", write_query(runs.parent), "--set", "search.seed=9", "--priority", 5)
    urgent, done, failed, cancelled, _ = queue.entries(runs)
    worked_on(runs, done, "done")
    queue.claim(runs, "worker", 10.0, 60.0)
    queue.fail(runs, failed.id, "worker", 20.0, "the model is gone")
    queue.cancel(runs, [cancelled.id], 30.0)
    queue.release(runs, urgent.id, "worker")
    before = [
        (entry.id, entry.state, entry.priority, entry.why, entry.folder) for entry in queue.entries(runs)
    ]
    spoil(queue_file(runs), damage)
    if damage not in ("deleted", "cut"):
        queue_command(runs, "list", fails="trex queue rebuild")
    queue_command(runs, "rebuild")
    assert [
        (entry.id, entry.state, entry.priority, entry.why, entry.folder) for entry in queue.entries(runs)
    ] == before
    assert (runs / "queue.sqlite.damaged").exists() == (damage not in ("deleted", "cut"))


def spoil(path: Path, damage: str) -> None:
    size = path.stat().st_size
    if damage == "deleted":
        path.unlink()
    elif damage == "zeros":
        path.write_bytes(bytes(size))
    elif damage == "cut":
        path.write_bytes(b"")
    elif damage == "another file":
        path.write_text("not a database, " * 400)
    else:
        path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (size - 4096))


def test_rebuild_keeps_the_leases_of_a_sound_file(runs: Path) -> None:
    running = queue.claim(runs, "worker", 10.0, 60.0)
    gone = queue.entries(runs)[2]
    shutil.rmtree(runs / gone.folder)
    queue_command(runs, "rebuild")
    assert queue.entries(runs)[0] == running
    assert gone.id not in states(runs) and len(states(runs)) == 3


def test_rebuild_leaves_out_what_is_no_entry(runs: Path) -> None:
    first, second, *_ = queue.entries(runs)
    (runs / first.folder / QUEUED).write_text('{"format": 1, "id": "../../etc"}')
    shutil.copytree(runs / second.folder, runs / f"copy-{'0' * 16}")
    (runs / f"link-{'1' * 16}").symlink_to(runs / second.folder)
    (runs / "from-trex-find").mkdir()
    result = queue_command(runs, "rebuild")
    assert "3 entries" in result.stdout
    assert "is damaged (id: " in result.stderr and f"names entry {second.id}" in result.stderr


def test_a_deleted_run_folder_is_queued_again(runs: Path) -> None:
    entry = queue.entries(runs)[0]
    worked_on(runs, entry, "done")
    shutil.rmtree(runs / entry.folder)
    again = added(runs, runs.parent / "query.toml", "--set", "search.seed=0")
    assert [(each["is_new"], each["state"]) for each in again] == [(True, "queued")]


def test_an_add_that_was_killed_is_taken_in_by_the_next(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = queue_add.put_in_place
    put: list[str] = []

    def killed(text: str, place: str) -> None:
        if len(put) == 2:
            raise KeyboardInterrupt
        put.append(place)
        real(text, place)

    monkeypatch.setattr(queue_add, "put_in_place", killed)
    trex("queue", "add", runs.parent / "query.toml", "--sweep", "search.seed=5..8",
                             "--runs", runs)  # fmt: skip
    monkeypatch.undo()
    assert len(states(runs)) == 4 and len(put) == 2
    found = added(runs, runs.parent / "query.toml", "--sweep", "search.seed=5..8")
    assert [item["is_new"] for item in found] == [False, False, True, True]
    assert len(states(runs)) == 8
    assert not list(runs.glob(".adding-*"))


KILLED_ADD = """
import os, signal, sys
from trex.commands.shell.app import app
from trex.farm.queue import add as queue_add
word = sys.argv.pop(1)
def at_once() -> None:
    if word == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    print("half made", flush=True)
    sys.stdin.read()
os.sync = at_once
app()
"""


@pytest.mark.process
def test_what_a_killed_add_leaves_goes_at_the_next_add_and_what_a_living_one_makes_stays(runs: Path) -> None:
    def other_add(word: str, seed: int) -> subprocess.Popen[str]:
        command = [
            "queue",
            "add",
            str(runs.parent / "query.toml"),
            "--set",
            f"search.seed={seed}",
            "--runs",
            str(runs),
        ]
        return subprocess.Popen(
            [sys.executable, "-c", KILLED_ADD, word, *command], cwd=Path(__file__).resolve().parents[4],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    other_add("kill", 70).communicate()
    (left,) = runs.glob(".adding-*")
    living = other_add("live", 71)
    assert living.stdout is not None and living.stdout.readline() == "half made\n"
    (making,) = set(runs.glob(".adding-*")) - {left}
    added(runs, runs.parent / "query.toml", "--set", "search.seed=72")
    assert list(runs.glob(".adding-*")) == [making]
    text, _ = living.communicate()
    assert living.returncode == 0 and "1 queued" in text
    assert not list(runs.glob(".adding-*")) and len(states(runs)) == 6


BAD: Sequence[tuple[Sequence[str], str]] = (
    (["none.toml"], "cannot be read"),
    (["none-*.toml"], "no file matches 'none-*.toml'"),
    (["query.toml", "--sweep", "search.seed"], "is not key=a,b,c"),
    (["query.toml", "--sweep", "search.seed=1,,2"], "is not key=a,b,c"),
    (["query.toml", "--sweep", "search.seed=5..1"], "5..1 is empty or has more than"),
    (["query.toml", "--sweep", "search.sed=1,2"], "did you mean 'seed'"),
    (["query.toml", "--sweep", "search.seed=1", "--set", "search.seed=2"], "the key is set twice"),
    (["query.toml", "--sweep", "search.seed=0..999", "--sweep", "search.steps=0..999"], "1,000,000 combinations"),
    (["query.toml", "--sweep", "answer=1,eleventy"], "answer=eleventy"),
    (["query.toml", "--set", "search.chains=13"], "raise prior_scenes or lower chains"),
)  # fmt: skip


@pytest.mark.parametrize(("arguments", "text"), BAD)
def test_a_bad_query_queues_nothing(
    arguments: Sequence[str], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_query(tmp_path)
    queue_command(tmp_path / "runs", "add", *arguments, fails=text)
    assert not (tmp_path / "runs").exists()


def test_sweeps_are_split_as_toml_is_read() -> None:
    assert combinations(["scene.objects=[3, 5],4", 'answer="1,2",3']) == [
        ("scene.objects=[3, 5]", 'answer="1,2"'),
        ("scene.objects=[3, 5]", "answer=3"),
        ("scene.objects=4", 'answer="1,2"'),
        ("scene.objects=4", "answer=3"),
    ]
    assert combinations([]) == [()]
    assert len(combinations(["a=0..99", "b=1,2"])) == 200
    with pytest.raises(InputError, match="has more than"):
        combinations(["a=0..1000000"])


def test_a_folder_that_is_in_the_way_stays(runs: Path) -> None:
    entry = queue.entries(runs)[0]
    shutil.rmtree(runs / entry.folder)
    (runs / entry.folder).write_text("mine")
    queue_command(
        runs,
        "add",
        runs.parent / "query.toml",
        "--set",
        "search.seed=0",
        fails="exists but holds no queued query",
    )
    assert (runs / entry.folder).read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "text"), [(errno.ENOSPC, "no space left"), (errno.EROFS, "make it writable")]
)
def test_a_full_or_read_only_disk_queues_nothing(
    number: int, text: str, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    before = sorted(item.name for item in runs.iterdir())
    monkeypatch.setattr(queue_add.os, "mkdir", refuse)
    queue_command(runs, "add", runs.parent / "query.toml", "--set", "search.seed=7", fails=text)
    monkeypatch.undo()
    assert sorted(item.name for item in runs.iterdir()) == before


def fill_up(runs: Path) -> None:
    """SQLite's own limit of the file's size gives the error that a full disk gives."""
    entry = queue.entries(runs)[0]
    with transaction(runs) as db:
        db.execute("PRAGMA max_page_count = 1")
        queue.insert(db, [replace(entry, id=str(number), folder=str(number)) for number in range(1000)])


def test_a_log_that_cannot_grow_on_a_full_disk_is_no_damage(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    for free, kind in ((0, DiskFullError), (1 << 30, QueueDamaged)):
        monkeypatch.setattr(
            "trex.farm.queue.queue_file.shutil.disk_usage", lambda _, n=free: Namespace(free=n)
        )
        with pytest.raises(kind), transaction(runs):
            raise error


def test_a_disk_that_is_full_for_sqlite_says_so(runs: Path) -> None:
    with pytest.raises(DiskFullError, match="free some space"):
        fill_up(runs)
    assert len(queue.entries(runs)) == 4


def test_a_queue_of_another_version_is_refused(runs: Path) -> None:
    db = sqlite3.connect(queue_file(runs))
    db.execute("PRAGMA user_version = 99")
    db.close()
    for command in (["list"], ["rebuild"]):
        queue_command(runs, *command, fails="has queue format 99, but this version reads format 1")


def test_some_hundred_entries(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    new = added(runs, write_query(tmp_path), "--sweep", "search.seed=0..299")
    assert len({item["id"] for item in new}) == 300
    assert [entry.id for entry in queue.entries(runs)] == [item["id"] for item in new]
    assert "300 cancelled" in queue_command(runs, "cancel", "--all").stdout
    queue_file(runs).unlink()
    queue_command(runs, "rebuild")
    assert [(entry.id, entry.state) for entry in queue.entries(runs)] == [
        (item["id"], "cancelled") for item in new
    ]
    assert all((runs / entry.folder / CANCELLED).exists() for entry in queue.entries(runs))
    assert not any((runs / entry.folder / FAILED).exists() for entry in queue.entries(runs))


def test_a_run_without_a_report_is_not_done(runs: Path) -> None:
    """Planted bug: `finished` alone was taken for done, so that a report that had failed was never written."""
    failed, half, done, _ = queue.entries(runs)
    worked_on(runs, failed, "failed")
    for entry in (failed, half, done):
        (runs / entry.folder / FINISHED).write_text("12 draws\n")
    (runs / done.folder / REPORT).write_text("<p>the report</p>")
    queue_file(runs).unlink()
    queue_command(runs, "rebuild")
    assert [queue.entry(runs, item.id).state for item in (failed, half, done)] == ["failed", "queued", "done"]
    assert queue.entry(runs, failed.id).why == "the model is gone"


def test_clean_leaves_what_was_queued_again_meanwhile(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the entries were listed first and removed by their ids at the end."""
    first, second, *_ = queue.entries(runs)
    queue.cancel(runs, [first.id, second.id], 1.0)
    remove = queue.remove

    def slow(place: Path, ended: Entry, delete: object) -> bool:
        queue.retry(runs, [second.id]) if ended.id == first.id else None
        return remove(place, ended, delete)  # type: ignore[arg-type]

    monkeypatch.setattr(queue, "remove", slow)
    removed, _ = queue.clean(runs, ["cancelled"], delete_runs=True)
    assert [each.id for each in removed] == [first.id]
    assert queue.entry(runs, second.id).state == "queued" and (runs / second.folder / QUEUED).exists()
    assert not (runs / first.folder).exists()


@pytest.mark.process
@pytest.mark.parametrize("is_begun", [False, True])
def test_a_clean_that_was_killed_while_it_deleted_a_run_blocks_nothing(is_begun: bool, runs: Path) -> None:
    """Planted bug: without its queued.json the folder could be neither cleaned nor added again."""
    entry = queue.entries(runs)[0]
    if is_begun:
        begin_run(runs / entry.folder).close()
    queue.cancel(runs, [entry.id], 1.0)

    def killed(path: Path, ignore_errors: bool = False) -> None:
        (Path(path) / QUEUED).unlink()
        os.kill(os.getpid(), signal.SIGKILL)

    def half() -> None:
        shutil.rmtree = killed  # type: ignore[assignment]
        queue.clean(runs, ["cancelled"], delete_runs=True)

    assert ended(in_child(half))
    removed, not_deleted = queue.clean(runs, ["cancelled"], delete_runs=True)
    assert [each.id for each in removed] == [entry.id] and not_deleted == []
    assert list(runs.glob(".cleaning-*")) == []
    assert added(runs, runs.parent / "query.toml", "--set", "search.seed=0")[0]["is_new"]


def requests(runs: Path, *overrides: str) -> list[QueueRequest]:
    """The query with these overrides, to be added."""
    return queue_requests([runs.parent / "query.toml"], (), [overrides])


def test_what_happens_during_a_rebuild_is_not_undone(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: the folders were read first, and what came before the transaction was forgotten."""
    first, second, *_ = queue.entries(runs)
    queue.claim(runs, "worker", 1.0, 60.0)
    changes: list[Callable[[], object]] = [
        lambda: queue_add.add(runs, requests(runs, "search.seed=9"), 0, 2.0),
        lambda: queue.fail(runs, first.id, "worker", 3.0, "the model is gone"),
        lambda: queue.cancel(runs, [second.id], 4.0),
    ]
    waiting: list[Callable[[], object]] = []
    read = rebuild._read_entries

    def meanwhile(place: Path) -> tuple[list[Entry], list[str]]:
        found = read(place)
        for change in changes:
            try:
                change()
            except RunError:  # another process has locked the queue
                waiting.append(change)
        return found

    monkeypatch.setattr("trex.farm.queue.queue_file.BUSY_S", 0.0)  # who must wait, is told so at once
    monkeypatch.setattr(rebuild, "_read_entries", meanwhile)
    rebuild.rebuild(runs)
    for change in waiting:
        change()
    found = states(runs)
    assert (found[first.id], found[second.id]) == ("failed", "cancelled")
    assert sorted(found.values()) == ["cancelled", "failed", "queued", "queued", "queued"]


@pytest.mark.parametrize("moment", ["before its folders", "before they are in place", "before its entries"])
def test_two_adds_of_one_query_at_once_leave_its_lease_alone(
    moment: str, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the later one wrote its entry over the other one's, which a worker had already claimed."""
    step = {"before its folders": "_make_folders", "before they are in place": "os.sync"}.get(
        moment, "transaction"
    )
    item = requests(runs, "search.seed=9")
    claimed: list[Entry | None] = []
    real = os.sync if step == "os.sync" else getattr(queue_add, step)

    def late(*arguments: object) -> object:
        monkeypatch.undo()
        queue_add.add(runs, item, 5, 2.0)
        claimed.append(queue.claim(runs, "worker", 3.0, 60.0))
        return real(*arguments)

    monkeypatch.setattr(f"trex.farm.queue.add.{step}", late)
    (found,) = queue_add.add(runs, item, 5, 1.0)
    assert found.entry == claimed[0] == queue.entry(runs, item[0].id)
    assert found.is_new == (moment == "before its entries")
    assert queue.heartbeat(runs, [item[0].id], "worker", 4.0, 60.0) == {item[0].id}


@pytest.mark.parametrize("step", ["record_made_here", "put_in_place"])
def test_an_add_that_was_killed_leaves_no_folder_that_seems_foreign(
    step: str, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: the folder came first, its record second, and without one a query's own code is not run."""
    own = 'generator.name="tests.worlds.toy_disk:disk"'
    (runs.parent / "query.toml").write_text('answer = "far"\n[search]\nprior_scenes = 8\nchains = 2\n')
    item = requests(runs, own)
    assert named_code(item[0].query)
    real = queue_add.put_in_place

    def killed(*arguments: str) -> None:
        real(*arguments) if step == "put_in_place" else None
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(queue_add, step, killed)
        with pytest.raises(KeyboardInterrupt):
            queue_add.add(runs, item, 0, 1.0)
    (found,) = queue_add.add(runs, item, 0, 2.0)
    assert found.is_new == (step == "record_made_here")
    check_made_here(runs / found.entry.folder, item[0].query)
