"""Shipped queries, by name: "demo"."""

from __future__ import annotations

import os
from pathlib import Path

QUERIES = Path(__file__).parent.parent / "queries"
SUFFIX = ".toml"


def names(folder: Path) -> list[str]:
    """The sorted names of the queries in a folder."""
    return sorted(path.stem for path in folder.glob(f"*{SUFFIX}"))


def is_question(given: str) -> bool:
    """Whether this is a question rather than the path or name of a query."""
    is_sentence = " " in given.strip() or given.rstrip().endswith("?")
    return is_sentence and not given.endswith(SUFFIX) and not os.path.exists(given)  # false if it is too long


def query_path(given: Path) -> Path:
    """The file at this path or, if there is none (a folder is none), the shipped query of this name."""
    shipped = QUERIES / f"{given}{SUFFIX}"
    is_name = given.name == str(given) and (os.path.isdir(given) or not os.path.exists(given))
    return shipped if is_name and os.path.isfile(shipped) else given


def shown_name(path: Path) -> str:
    """How a page names a query's file: a shipped query by its name, any other by its path."""
    return path.stem if path.parent == QUERIES else str(path)
