"""The tables of docs/reference/ say what the code says: `python docs/tables.py` would change nothing."""

from __future__ import annotations

import importlib.util
import re
import sys
from types import ModuleType

import pytest

from tests.serving.documents import ROOT

REFERENCE = ROOT / "docs" / "reference"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "docs" / "tables.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = loaded()
PAGES = [path.name for path in sorted(REFERENCE.glob("*.md")) if tables.TABLE.search(path.read_text())]


@pytest.mark.parametrize("page", PAGES)
def test_every_table_follows_from_the_code(page: str) -> None:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    assert tables.written(text) == text, "make it anew: python docs/tables.py"


def test_every_table_stands_on_one_page() -> None:
    found = [name for page in PAGES for _, name, *_ in tables.TABLE.findall((REFERENCE / page).read_text())]
    assert sorted(found) == sorted(tables.MAKERS)


def test_somebody_has_written_what_every_key_sets() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\|(.*)\|$", (REFERENCE / "queries.md").read_text(), re.M)
    assert len(rows) > 40 and [key for key, words in rows if not words.strip()] == []


@pytest.mark.parametrize(
    ("page", "old", "new"),
    [
        ("queries.md", "default `500`", "default `400`"),
        ("queries.md", "whole number, 1 to 64", "whole number, 1 to 63"),
        ("queries.md", "| `wrong` |", "| `right` |"),
        ("presets.md", "16 samples", "15 samples"),
        ("commands.md", "Default: `20`", "Default: `21`"),
        ("commands.md", "### trex export RUN", "### trex export"),
    ],
)
def test_a_wrong_cell_is_noticed(page: str, old: str, new: str) -> None:
    text = (REFERENCE / page).read_text(encoding="utf-8")
    assert old in text
    assert tables.written(text.replace(old, new, 1)) != text.replace(old, new, 1)
