"""`trex init`: what it writes can be read, checked and run as it stands.

So does docs/start/tutorial.ipynb: its cells on the fake world, and by night in Blender.
"""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import trex
from tests.running.command_line import refused
from tests.running.command_line import trex as command
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
    refused(command("init"), "mymodel.py, first_run.ipynb exist already")
    assert (written / "mymodel.py").read_text() == "mine = True\n" and not (written / "query.toml").exists()


def test_it_says_how_to_go_to_a_folder_with_a_space_and_what_to_do_about_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "my first"
    assert f"cd '{folder}'" in command("init", folder).stdout.splitlines()
    refused(command("init", folder / FILES[0]), "give a new folder: trex init FOLDER")


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


NOTEBOOK = Path(__file__).resolve().parents[3] / "docs" / "start" / "tutorial.ipynb"


def cells() -> list[str]:
    """The code of the notebook, cell by cell."""
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]


def execute(code: list[str]) -> dict[str, object]:
    """The names that the cells leave, run one after the other; what a cell ends with is shown as notebooks do."""
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(code):
        tree = ast.parse(cell, f"cell {number}")
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            shown = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
            show = getattr(shown, "_repr_html_", None)
            assert show() if show else repr(shown)
    return names


def test_the_notebook_is_committed_with_the_outputs_of_one_run() -> None:
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not any(output["output_type"] == "error" for output in outputs)
    assert any(kind.startswith("image/") for output in outputs for kind in output.get("data", {}))


def smaller(cell: str) -> str:
    """The cell with flat pictures instead of Blender's, few of them, and no bank."""
    cell = re.sub(r"(?<=\bpreset)(.{1,3})\"(?:draft|fast)\"", r'\1"fake"', cell)
    for name, number in (("steps", 4), ("prior_scenes", 8), ("bank", 0), ("spread", 0)):
        cell = re.sub(rf"(?<=\b{name})(\D{{1,3}})\d+", rf"\g<1>{number}", cell)
    return cell


@pytest.mark.slow
def test_the_cells_run_on_the_fake_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quick = [smaller(cell) for cell in cells()]
    text = quick[1].replace("query = {", 'query = {"model": "fake", "chains": 2, "steps": 4,')
    assert text != quick[1]
    names = execute([quick[0], text, *quick[2:]])
    run, own = names["run"], names["own"]
    assert isinstance(run, trex.Run) and isinstance(own, trex.Run)
    assert run.is_finished and own.is_finished
    assert len(run.records) == 8 + 2 * 4 or run.hits
    assert run.path == tmp_path / "runs/tutorial" and (run.path / "report.html").is_file()
    assert own.query.model.name == "live:__main__.CountReds"


@pytest.mark.nightly
@pytest.mark.blender
@pytest.mark.timeout(1800)
def test_the_whole_notebook_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = execute(cells())
    run, own = names["run"], names["own"]
    assert isinstance(run, trex.Run) and isinstance(own, trex.Run)
    assert run.is_finished and own.is_finished
