"""Formats entries as lines for a terminal and as objects for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from trex.farm.queue.entry import STATES, Entry
from trex.foundation.words import escaped

SHORT = 10  # digits of an id on display; any unique prefix is accepted
HEADER = f"{'id':{SHORT}}  {'state':9} {'prio':>4} {'tries':>5}  {'added':16}  run folder  settings"


def line(runs: Path, entry: Entry) -> str:
    """One entry as a row of the list."""
    from trex.farm.queue.queued_folder import (
        settings_of,  # imports numpy; this file is imported for every --help
    )

    row = (
        f"{entry.id[:SHORT]}  {entry.state:9} {entry.priority:4} {entry.attempts:5}  {moment(entry.added)}  "
        f"{escaped(entry.folder)}"
    )
    more = [settings_of(runs, entry), entry.why]
    return "  ".join([row, *(escaped(text) for text in more if text)])


def moment(seconds: float | None) -> str:
    """A time in the user's time zone; "" if it is unset."""
    return "" if seconds is None else datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def tally(counts: Mapping[str, int]) -> str:
    """The number of entries in each state as text: "2 queued, 1 done"."""
    return ", ".join(f"{counts[state]} {state}" for state in STATES if counts.get(state)) or "nothing"


def fields(runs: Path, entry: Entry) -> dict[str, object]:
    """An entry as an object for JSON, with its query's overrides and the paths of its run folder and report."""
    from trex.farm.queue.queued_folder import settings_of

    report = _report(runs, entry)
    return {
        **asdict(entry),
        "settings": settings_of(runs, entry),
        "run": str(runs / entry.folder),
        "report": str(report) if report.exists() else None,
    }


def facts(entry: Entry, overrides: Sequence[str]) -> list[tuple[str, str]]:
    """The name and value of each known fact about an entry; no paths."""
    pairs = [
        ("id", entry.id), ("question", entry.question), ("state", entry.state), ("why", entry.why),
        ("set", " ".join(overrides)), ("priority", str(entry.priority)), ("tries", str(entry.attempts)),
        ("added", moment(entry.added)), ("began", moment(entry.began)), ("ended", moment(entry.ended)),
        ("owner", entry.owner or ""), ("lease until", moment(entry.expires)),
    ]  # fmt: skip
    return [(name, value) for name, value in pairs if value]


def details(runs: Path, entry: Entry, overrides: Sequence[str]) -> list[str]:
    """All facts about one entry, one per line."""
    report = _report(runs, entry)
    places = [("query", entry.source), ("run", str(runs / entry.folder))]
    places += [("report", str(report))] if report.exists() else []
    return [f"{name:9} {escaped(value)}" for name, value in (*facts(entry, overrides), *places)]


def _report(runs: Path, entry: Entry) -> Path:
    from trex.runs.folder import REPORT  # slow to import; a command's help does without it

    return runs / entry.folder / REPORT
