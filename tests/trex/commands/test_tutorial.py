"""docs/start/tutorial.ipynb runs as it stands: its cells on the fake world, and by night in Blender."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import trex

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
    assert run.path == Path("runs/tutorial") and (run.path / "report.html").is_file()
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
