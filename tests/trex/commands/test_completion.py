"""What the shell is offered, as the command itself answers it."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.running.runs import run
from trex.commands.shell.app import app


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a query, a run, and files that are neither."""
    folder = tmp_path_factory.mktemp("place")
    run(folder)
    (folder / "runs").mkdir()
    (folder / "run").rename(folder / "runs" / "done")
    (folder / "mine").mkdir()
    (folder / "query.toml").rename(folder / "mine" / "query.toml")
    (folder / "mine" / "notes.txt").touch()
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "query.toml").touch()
    return folder


def offered(words: str) -> list[str]:
    texts = {"_TREX_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = CliRunner().invoke(app, [], prog_name="trex", env=texts)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("trex re", ["render", "repair", "report", "resume"]),
        ("trex check m", ["mine/query.toml", "mnist_1_or_7", "mnist_sure_of_7"]),
        ("trex find mine/", ["mine/query.toml"]),
        ("trex check dem", ["demo"]),
        ("trex report r", ["runs/done"]),
        ("trex resume runs/d", ["runs/done"]),
        ("trex export ", ["runs/done"]),
        ("trex report mine/n", []),  # the shell then completes file names
    ],
)
def test_the_shell_is_offered_commands_queries_and_runs(
    place: Path, monkeypatch: pytest.MonkeyPatch, words: str, expected: list[str]
) -> None:
    monkeypatch.chdir(place)
    assert sorted(offered(words)) == expected


def test_a_shell_gets_its_script_and_help_names_the_option_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # which shell runs the tests
    script = CliRunner().invoke(app, ["--show-completion", "bash"], prog_name="trex")
    assert (script.exit_code, "complete -o default -F _trex_completion trex" in script.stdout) == (0, True)
    long, short = (CliRunner().invoke(app, [flag], prog_name="trex") for flag in ("--help", "-h"))
    assert long.stdout == short.stdout and long.stdout.count("--install-completion") == 1
