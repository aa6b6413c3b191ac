"""`trex init`: what it writes can be read, checked and run as it stands."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trex
from tests.running.command_line import refused
from tests.running.command_line import trex as command
from tests.trex.commands.test_tutorial import execute
from trex.commands.init import FILES


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that `trex init` has filled, as the current one."""
    folder = tmp_path / "first"
    done = command("init", str(folder))
    assert done.exit_code == 0, done.output
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("mymodel", None)
    importlib.invalidate_caches()
    yield folder
    sys.modules.pop("mymodel", None)


def notebook(folder: Path) -> list[str]:
    book = json.loads((folder / "first_run.ipynb").read_text(encoding="utf-8"))
    assert all(not cell.get("outputs") for cell in book["cells"])
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]


def test_three_files_are_written_and_none_is_overwritten(written: Path) -> None:
    assert {path.name for path in written.iterdir()} == set(FILES)
    (written / "mymodel.py").write_text("mine = True\n")
    (written / "query.toml").unlink()
    refused(command("init"), "mymodel.py, first_run.ipynb exists already")
    assert (written / "mymodel.py").read_text() == "mine = True\n" and not (written / "query.toml").exists()


def test_its_last_words_are_commands_that_parse(tmp_path: Path) -> None:
    from tests.serving.documents import commands, complaint

    printed = command("init", str(tmp_path)).stdout
    lines = list(commands(f"```\n{printed}\n```"))
    assert [line[0] for line in lines] == ["check", "find"]
    assert [why for line in lines if (why := complaint(line))] == []


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("model", ["mymodel:factory", "shipped"])
def test_the_query_is_checked_with_its_model_and_with_ours(model: str) -> None:
    done = command("check", "query.toml", "--model", model)
    assert done.exit_code == 0 and "query.toml is valid" in done.stdout, done.output


@pytest.mark.usefixtures("written")
def test_a_wrong_line_in_it_is_noticed(written: Path) -> None:
    """The control of the test above."""
    query = written / "query.toml"
    query.write_text(query.read_text().replace('answer = "2"', 'answer = "4"'))
    refused(command("check", "query.toml", "--model", "mymodel:factory"), "4")


@pytest.mark.slow
def test_the_notebook_runs_on_the_fake_world(written: Path) -> None:
    query = written / "query.toml"
    text = query.read_text()
    small = (
        text.replace('"fast"', '"fake"')
        .replace("bank = 200", "bank = 60")
        .replace("steps = 100", "steps = 4")
    )
    query.write_text(small)
    assert all(words in small for words in ('"fake"', "bank = 60", "steps = 4"))
    run = execute(notebook(written))["run"]
    assert isinstance(run, trex.Run) and run.is_finished
    assert (written / "runs" / "first" / "report.html").is_file()


@pytest.mark.nightly
@pytest.mark.blender
@pytest.mark.timeout(1800)
def test_query_and_notebook_run_as_they_stand(written: Path) -> None:
    done = command("find", "query.toml", "--model", "mymodel:factory", "--out", "runs/typed")
    assert done.exit_code == 0, done.output
    run = execute(notebook(written))["run"]
    assert isinstance(run, trex.Run) and run.is_finished and run.hits
    assert {hit.answer for hit in run.hits} == {"2"} and all(hit.truth != "2" for hit in run.hits)
