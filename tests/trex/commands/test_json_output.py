"""Every command that tells a result does so in one JSON document on standard output, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running.command_line import trex, whole
from tests.running.runs import run, write_query

TOLD_ELSEWHERE = {("queue", "serve")}  # serves until it is stopped


def commands(group: object, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every command below a group with the words that name it."""
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


EVERY = dict(commands(whole()))


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_has_help_by_h_and_a_first_line(words: tuple[str, ...]) -> None:
    short, long = (trex(*words, option) for option in ("-h", "--help"))
    assert short.exit_code == 0
    assert short.stdout == long.stdout
    assert f" {' '.join(words)} [OPTIONS]" in short.stdout


def test_every_command_that_tells_a_result_takes_json() -> None:
    without = {
        words
        for words, command in EVERY.items()
        if not any("--json" in parameter.opts for parameter in command.params)  # type: ignore[attr-defined]
    }
    assert without == TOLD_ELSEWHERE


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A query, and two runs of it."""
    folder = tmp_path_factory.mktemp("two")
    run(folder, ["search.steps=20"], "one")
    run(folder, ["target.kind=threshold", "search.steps=0"], "two")
    write_query(folder)
    return folder


@pytest.fixture
def place(two_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a query, two runs and a queue, which is the working folder too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    shutil.copytree(two_runs, tmp_path, dirs_exist_ok=True)
    assert trex("queue", "add", "query.toml").exit_code == 0
    return tmp_path


LINES = [
    "find query.toml --out new",
    "find query.toml",
    "resume one",
    "check query.toml",
    "report one",
    "report one --format netcdf",
    "report one two",
    "explain one --top 1 --nuisances 0 --flip-depth 0",
    "export one --no-edits",
    "suite add one --to new",
    "models list",
    "cache",
    "cache prune",
    "render bank query.toml --scenes 2 --preset fake",
    "cache banks",
    "cache prune-banks --all",
    "models verify shipped",
    "queue add query.toml --set search.seed=5",
    "queue list",
    "queue cancel --all",
    "queue priority --to 3 --all",
    "queue retry --failed",
    "queue clean",
    "queue rebuild",
    "queue run --until-empty",
    "queue watch --once",
]


@pytest.mark.parametrize("line", LINES)
def test_standard_output_holds_one_json_document_and_nothing_else(place: Path, line: str) -> None:
    result = trex(*line.split(), "--json")
    assert result.exit_code == 0, result.output
    json.loads(result.stdout)
    assert result.stdout.count("\n") == 1


def test_work_tells_on_standard_error_which_query_is_carried_out(place: Path) -> None:
    result = trex("queue", "run", "--until-empty", "--json")
    assert "queries ended: 0, query-" in result.stderr
    assert json.loads(result.stdout)["done"] == 1


def test_an_entry_is_shown_in_json(place: Path) -> None:
    (entry,) = json.loads(trex("queue", "list", "--json").stdout)
    shown = json.loads(trex("queue", "show", entry["id"], "--json").stdout)
    assert shown["id"] == entry["id"]


def test_an_error_leaves_standard_output_empty(place: Path) -> None:
    result = trex("find", "nowhere.toml", "--json")
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_comparison_in_json_tells_what_its_page_tells(place: Path) -> None:
    message = json.loads(trex("report", "one", "two", "--json").stdout)
    assert [item["name"] for item in message["compared"]] == ["one", "two"]
    assert Path(message["report"]).is_file()
    assert message["tests"] or message["unpaired"]
