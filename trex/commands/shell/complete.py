"""Completions for the shell; if there are none, the shell completes file names itself."""

from __future__ import annotations

from collections.abc import Iterator
from glob import iglob
from pathlib import PurePath

from trex.query import shipped

RUN = "run.json"  # marks a run folder; trex.runs.folder takes long to import


def queries(incomplete: str) -> list[str]:
    """Query files up to one folder below, and the names of the shipped queries."""
    files = _below(incomplete, ("*.toml", "*/*.toml"))
    return _begun(incomplete, [*files, *shipped.names(shipped.QUERIES)])


def runs(incomplete: str) -> list[str]:
    """Run folders up to two folders below."""
    found = _below(incomplete, (f"*/{RUN}", f"*/*/{RUN}", f"*/*/*/{RUN}"))
    return _begun(incomplete, [str(PurePath(path).parent) for path in found])


def _below(incomplete: str, patterns: tuple[str, ...]) -> Iterator[str]:
    """The matching paths below the folder typed so far, with the prefix as typed."""
    folder = incomplete[: incomplete.rfind("/") + 1]
    for pattern in patterns:
        for path in iglob(pattern, root_dir=folder or None):
            yield folder + path


def _begun(incomplete: str, found: list[str]) -> list[str]:
    return sorted(word for word in found if word.startswith(incomplete))
