"""No two files import each other, also not inside functions or for types alone, which import-linter's layers allow."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import networkx as nx

PACKAGE = Path(__file__).parents[2] / "trex"


def circles(texts: Mapping[str, str]) -> list[list[str]]:
    """The sets of modules, by their dotted names, that reach each other by imports."""
    graph = nx.DiGraph()
    for name, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                graph.add_edges_from((name, each if each in texts else node.module) for each in inner)
            elif isinstance(node, ast.Import):
                graph.add_edges_from((name, alias.name) for alias in node.names)
    return [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]


def test_no_files_import_each_other() -> None:
    texts = {}
    for folder in filter(Path.is_dir, PACKAGE.iterdir()):
        for path in folder.resolve().rglob("*.py"):
            if path.name != "__init__.py":
                parts = ("trex", folder.name, *path.relative_to(folder.resolve()).with_suffix("").parts)
                texts[".".join(parts)] = path.read_text("utf-8")
    assert len(texts) > 400
    assert circles(texts) == []


def test_a_circle_that_is_closed_inside_a_function_or_for_a_type_is_caught() -> None:
    """Planted bugs: a verb's result called the verb again, and a kind named the world that looks it up."""
    late = {"a": "from b import x", "b": "def f():\n    from a import y", "c": "import a"}
    typed = {"a.b": "if TYPE_CHECKING:\n    from a import c", "a.c": "from a.b import x"}
    assert circles(late) == [["a", "b"]]
    assert circles(typed) == [["a.b", "a.c"]]
