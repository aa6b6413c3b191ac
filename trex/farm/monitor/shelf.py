"""The shelf: everything in a runs folder that is not in the queue, such as runs of `trex find` and baselines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trex.farm.monitor.files import is_plain
from trex.farm.monitor.overview import ending_of
from trex.farm.queue.queued_folder import QUEUED
from trex.foundation.errors import RunError, TrexError
from trex.foundation.files import read_bytes
from trex.foundation.json_fields import mapping
from trex.foundation.parse import parse_json
from trex.runs.folder import MANIFEST, REPORT
from trex.runs.picture_files import PICTURES

MAX_DEPTH = 4  # levels below the runs folder: runs/experiments/NAME/CELL is three
MAX_FOLDERS = 20_000  # visited at most
MAX_MANIFEST_BYTES = 4 << 20
HTML = ".html"
PAGE_KINDS: Mapping[str, str] = {
    "experiment.html": "experiment",
    "baseline.html": "baseline",
    "comparison.html": "comparison",
    "explanation.html": "explanation",
    REPORT: "run",
}


@dataclass(frozen=True)
class Item:
    """A page, or a run that has none yet (`page` is ""); `path` and `page` are relative to the runs folder.

    `described` adds the run's question, outcome and best confidence, if its files hold them.
    """

    kind: str
    path: str
    page: str
    question: str = ""
    ending: str = ""
    best: float | None = None


def shelf(runs: Path) -> tuple[Item, ...]:
    """Everything below the runs folder that is not in the queue, sorted by path; follows no link."""
    return tuple(sorted(_items(runs), key=lambda item: (item.path, item.page)))


def described(runs: Path, items: Sequence[Item]) -> tuple[Item, ...]:
    """The items with the facts of their runs; imports no code that a file names."""
    return tuple(_described(runs, item) for item in items)


def _items(runs: Path) -> Iterator[Item]:
    waiting, visited = [("", 0)], 0
    while waiting and visited < MAX_FOLDERS:
        folder, depth = waiting.pop()
        visited += 1
        files, folders = _inside(runs / folder)
        if QUEUED in files:
            continue
        pages = [name for name in files if name.endswith(HTML)]
        yield from (_item(folder, name, MANIFEST in files) for name in pages)
        if MANIFEST in files and REPORT not in files:
            yield Item("run", folder, "")
        if depth < MAX_DEPTH:
            waiting += [(f"{folder}/{name}".lstrip("/"), depth + 1) for name in folders]


def _item(folder: str, name: str, is_run: bool) -> Item:
    kind = "page of a run" if is_run and name != REPORT else PAGE_KINDS.get(name, "page")
    path = f"{folder}/{name}".lstrip("/")
    return Item(kind, folder if folder and name in PAGE_KINDS else path, path)


def _inside(folder: Path) -> tuple[list[str], list[str]]:
    """The names of plain files, and of folders that may hold pages."""
    files, folders = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if is_plain(entry.name) and entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
                elif is_plain(entry.name) and entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
    except OSError:  # deleted meanwhile, or unreadable
        return [], []
    return files, [name for name in folders if name != PICTURES]


def _described(runs: Path, item: Item) -> Item:
    if item.kind != "run":
        return item
    folder = runs / (os.path.dirname(item.page) if item.page else item.path)
    ending, best = ending_of(folder)
    return replace(item, question=_question(folder / MANIFEST), ending=ending, best=best)


def _question(manifest: Path) -> str:
    """The question in a manifest, read as plain JSON: parsing it fully could import a third-party module."""
    try:
        data = read_bytes(manifest, limit=MAX_MANIFEST_BYTES, follow_links=False, error=RunError)
        found = mapping(parse_json(data, str(manifest)), str(manifest))
        return str(mapping(found["facts"], "facts")["question"])
    except (TrexError, KeyError, TypeError):
        return ""
