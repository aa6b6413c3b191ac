"""What users of other libraries try first: each notebook runs as it stands, and has 5 to 15 statements."""

from __future__ import annotations

import ast
import runpy
import webbrowser
from pathlib import Path

import pytest

from trex.foundation import extensions

NOTEBOOKS = sorted(
    path for path in Path(__file__).parent.glob("*.py") if not path.name.startswith(("test_", "__"))
)
FAST = ("own_generator", "two_models")  # the others take more than 2 s of processor time
MARKED = [
    pytest.param(path, id=path.stem, marks=() if path.stem in FAST else pytest.mark.slow)
    for path in NOTEBOOKS
]


@pytest.mark.parametrize("notebook", MARKED)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(extensions, "_given", {})
    monkeypatch.setattr(
        webbrowser, "open", lambda address: address.startswith("file://") or pytest.fail(address)
    )
    runpy.run_path(str(notebook), run_name="__main__")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short(notebook: Path) -> None:
    """Imports and assertions aside."""
    nodes = ast.walk(ast.parse(notebook.read_text()))
    aside = (ast.Import, ast.ImportFrom, ast.Assert)
    docs = (ast.Expr,)
    lines = [
        node
        for node in nodes
        if isinstance(node, ast.stmt)
        and not isinstance(node, aside)
        and not (isinstance(node, docs) and isinstance(node.value, ast.Constant))
    ]
    assert 2 <= len(lines) <= 15
    assert len(NOTEBOOKS) >= 10
