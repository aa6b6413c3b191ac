"""A row of `queue.sqlite` as an entry: the file may come from elsewhere, so every value is checked."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Mapping

from trex.farm.queue.entry import STATES, Entry
from trex.farm.queue.queued_folder import FOLDER, LATEST_S

ID = re.compile(r"[0-9a-f]{16}")


def entry_of(row: sqlite3.Row) -> Entry:
    """The entry in a row; sqlite3.DataError, which `queue_file` reports as damage, if no version writes such a row."""
    found = dict(zip(row.keys(), row, strict=True))
    if tuple(found) != tuple(CHECKS):
        raise sqlite3.DataError(f"its columns are not {', '.join(CHECKS)}")
    for name, is_sound in CHECKS.items():
        if not is_sound(found[name]):
            raise sqlite3.DataError(f"an entry's {name} is {found[name]!r:.60}")
    return Entry(**found)


def _is_id(value: object) -> bool:
    return isinstance(value, str) and ID.fullmatch(value) is not None


def _is_folder(value: object) -> bool:
    return isinstance(value, str) and FOLDER.fullmatch(value) is not None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int)


def _is_time(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= LATEST_S


def _is_time_or_none(value: object) -> bool:
    return value is None or _is_time(value)


CHECKS: Mapping[str, Callable[[object], bool]] = {  # in the order of the columns
    "id": _is_id,
    "folder": _is_folder,
    "source": _is_text,
    "question": _is_text,
    "state": STATES.__contains__,
    "priority": _is_whole,
    "attempts": _is_whole,
    "added": _is_time,
    "place": _is_whole,
    "began": _is_time_or_none,
    "ended": _is_time_or_none,
    "owner": lambda value: value is None or _is_text(value),
    "expires": _is_time_or_none,
    "why": _is_text,
}
