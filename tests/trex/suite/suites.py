"""Suites of tests: their only batch, their files, and batches that are sealed anew after a change by an attacker."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trex.suite.batch import Batch, batch_name, read_batches


def only(suite: Path) -> Batch:
    (batch,) = read_batches(suite)
    return batch


def tree(folder: Path) -> dict[str, bytes]:
    """The files of a suite without what a kill has left half-written, which has a name that begins with a dot."""
    found = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {
        str(name): path.read_bytes()
        for name, path in found.items()
        if not any(p[0] == "." for p in name.parts)
    }


def reseal(suite: Path, change: Callable[[Any], object]) -> None:
    """Change `batch.json` and name the folder by its new hash."""
    folder = only(suite).folder
    data = json.loads((folder / "batch.json").read_text())
    change(data)
    text = json.dumps(data).encode()
    (folder / "batch.json").write_bytes(text)
    folder.rename(suite / batch_name(text))
