"""Shipped queries and experiments, by name: "demo", "mnist-ambiguity"."""

from __future__ import annotations

from pathlib import Path

QUERIES = Path(__file__).parent.parent / "queries"
EXPERIMENTS = QUERIES / "experiments"
SUFFIX = ".toml"


def names(folder: Path) -> list[str]:
    """The sorted names of the queries or experiments in one of the two folders."""
    return sorted(path.stem for path in folder.glob(f"*{SUFFIX}"))


def query_path(given: Path) -> Path:
    """The file at this path or, if there is none, the shipped query of this name."""
    shipped = QUERIES / f"{given}{SUFFIX}"
    is_name = given.name == str(given) and not given.exists()
    return shipped if is_name and shipped.is_file() else given
