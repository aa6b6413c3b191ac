"""The queries and experiments that come with this package, by name: "demo", "mnist-ambiguity"."""

from __future__ import annotations

from pathlib import Path

QUERIES = Path(__file__).parent.parent / "queries"
EXPERIMENTS = QUERIES / "experiments"
SUFFIX = ".toml"


def names(folder: Path) -> list[str]:
    """The names of the queries or experiments in one of the two folders, sorted."""
    return sorted(path.stem for path in folder.glob(f"*{SUFFIX}"))


def query_path(given: Path) -> Path:
    """The file of a query given by its path or, if there is no such file, by the name of a shipped one."""
    shipped = QUERIES / f"{given}{SUFFIX}"
    is_name = given.name == str(given) and not given.exists()
    return shipped if is_name and shipped.is_file() else given
