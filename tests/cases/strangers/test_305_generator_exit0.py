"""Code of others that ends the program is an error with a message, never the exit code 0 and silence."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import trex as api
from tests.running.command_line import refused, trex
from tests.running.farm_pools import new_worker
from tests.running.runs import QUERY
from trex.farm.workers import worker
from trex.farm.workers.tasks import FailureKind, PrepareRun, TaskFailure
from trex.foundation.errors import InputError

WORLD = """
import sys, click, typer
from tests.worlds.toy_disk import disk

class Quits:
    def __init__(self):
        self.labels = ("near", "far")
    def __call__(self, pictures, question):
        {ends}
    def log_probs(self, images):
        {ends}

def factory(name):
    {ends}

class World:
    def __init__(self, made):
        self.made = made
    def __getattr__(self, name):
        return getattr(self.made, name)
    def plan(self, query, folder):
        {ends}

def later(name):
    return World(disk(name))

def loads(question):
    {ends}
quits = Quits()
"""
GENERATOR = 'question = "How far out is it?"\nanswer = "far"\n[generator]\nname = "{module}:{name}"\n'
ENDS = {
    "0": "sys.exit(0)",
    "None": "sys.exit()",
    "one": "sys.exit(1)",
    "words": "sys.exit('all good')",
    # Command line libraries end by exceptions of their own.
    "SystemExit": "raise SystemExit",
    "typer": "raise typer.Exit(0)",
    "click": "raise click.exceptions.Exit(0)",
}


def module(folder: Path, monkeypatch: pytest.MonkeyPatch, ends: str, at_import: str = "") -> str:
    """A module in the current folder, under a name that no other test imports."""
    name = f"quits_{abs(hash(str(folder)))}"
    (folder / f"{name}.py").write_text(WORLD.format(ends=ends) + at_import)
    monkeypatch.chdir(folder)
    return name


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("name", ["factory", "later"])
@pytest.mark.parametrize("command", [["check", "q.toml"], ["find", "q.toml", "--out", "run"]])
def test_a_world_that_ends_the_program(
    command: list[str], name: str, ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quits = module(tmp_path, monkeypatch, ENDS[ends])
    (tmp_path / "q.toml").write_text(GENERATOR.format(module=quits, name=name))
    refused(trex(*command), "Exit", quits)
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="Exit"):
        api.check(tmp_path / "q.toml")


@pytest.mark.parametrize("spec", ["{}:loads", "ask:{}:quits"])
def test_a_model_that_ends_the_program(spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quits = module(tmp_path, monkeypatch, ENDS["0"])
    (tmp_path / "q.toml").write_text(QUERY)
    refused(trex("check", "q.toml", "--model", spec.format(quits)), "SystemExit")


def test_a_module_that_ends_the_program_when_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quits = module(tmp_path, monkeypatch, ENDS["0"], "\nsys.exit(0)\n")
    (tmp_path / "q.toml").write_text(GENERATOR.format(module=quits, name="factory"))
    refused(trex("check", "q.toml"), "SystemExit")


@pytest.mark.parametrize("code", [0, None, 7, "all good"])
def test_any_other_code_that_ends_a_command(code: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tracker, a section, a format, a sampler: whatever calls sys.exit inside a command."""

    def quits(*_: object, **__: object) -> None:
        sys.exit(code)  # type: ignore[arg-type]

    monkeypatch.setattr("trex.commands.query._report_one", quits)
    refused(trex("report", "run"), f"sys.exit({code!r})", "test_305")


def test_typers_own_exits_stay() -> None:
    assert trex("--version").exit_code == 0
    assert trex("--help").exit_code == 0
    assert trex("find", "--help").exit_code == 0
    assert trex("find").exit_code == 2


def test_a_worker_answers_if_a_models_code_ends_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread or a process of the farm would end without an answer, and its query wait for ever."""

    def quits(*_: object) -> object:
        sys.exit(0)

    monkeypatch.setattr(worker.Worker, "_do", quits)
    answer = new_worker(tmp_path).do(PrepareRun(tmp_path))
    assert isinstance(answer, TaskFailure) and answer.kind is FailureKind.INVALID_QUERY
    assert "SystemExit" in answer.why
