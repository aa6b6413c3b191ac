"""The content of `trex queue serve`'s pages, as values for the templates and as JSON for their script."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from trex.farm.monitor.files import latest_pictures
from trex.farm.monitor.overview import Overview, Row, rows
from trex.farm.monitor.shelf import Item, described
from trex.farm.monitor.top import COLUMNS, TEXT_WIDTHS, cells, headline
from trex.farm.queue import queue
from trex.farm.queue.entry import STATES, Entry, State, run_path
from trex.farm.queue.words import facts
from trex.foundation.errors import InputError, RunError
from trex.pages.page import page

PER_PAGE = 100
WORKER_COLUMNS = ("worker", "host", "works on", "segments", "renders", "restarts", "memory MiB")


def queue_page(runs: Path, snapshot: Overview, state: str, number: int) -> str | None:
    """A page of the queue, one state or all, `number` counted from 1; None if there is no such page."""
    states: list[State] = [text for text in STATES if text == state]
    if (state and not states) or number < 1:
        return None
    total = snapshot.counts.get(state, 0) if state else sum(snapshot.counts.values())
    pages = max(-(-total // PER_PAGE), 1)
    if number > pages:
        return None
    order = queue.LATEST if state in ("done", "failed", "cancelled") else queue.TURN
    shown = queue.entries(runs, states, PER_PAGE, offset=(number - 1) * PER_PAGE, order=order)
    return page(
        "serve.html",
        {
            **_live(snapshot),
            "columns": COLUMNS,
            "texts": TEXT_WIDTHS,
            "worker_columns": WORKER_COLUMNS,
            "states": STATES,
            "state": state,
            "number": number,
            "pages": pages,
            "rows": _rows(rows(runs, shown), snapshot.now),
        },
    )


def run_page(runs: Path, name: str, now: float) -> str | None:
    """The page of the entry with this run folder name; None if the queue has none."""
    entry = _of_folder(runs, name)
    if entry is None:
        return None
    (row,) = rows(runs, [entry])
    return page(
        "serve_run.html",
        {
            "entry": entry,
            "settings": row.settings,
            "facts": facts(entry, ()),
            "cells": list(zip(COLUMNS, cells(row, now), strict=True))[3:],
            "has_report": row.has_report,
            "pictures": latest_pictures(run_path(runs, entry)),
        },
    )


def shelf_page(runs: Path, items: Sequence[Item], number: int) -> str | None:
    """A page of the shelf (what is not in the queue), `number` counted from 1; None if there is no such page."""
    pages = max(-(-len(items) // PER_PAGE), 1)
    if not 1 <= number <= pages:
        return None
    shown = described(runs, items[(number - 1) * PER_PAGE : number * PER_PAGE])
    rows = [
        {
            "item": item,
            "question": item.question,
            "ending": item.ending,
            "best": "" if item.best is None else f"{item.best:.3f}",
            "href": f"/files/{quote(item.page)}" if item.page else "",
        }
        for item in shown
    ]
    return page("serve_all.html", {"rows": rows, "total": len(items), "number": number, "pages": pages})


def live_json(snapshot: Overview) -> str:
    """The values that the page's script refreshes."""
    return json.dumps(_live(snapshot))


def _live(snapshot: Overview) -> dict[str, object]:
    workers = [
        (
            worker.name,
            worker.host,
            worker.entry or "idle",
            worker.segments,
            worker.renders,
            worker.restarts,
            f"{worker.memory_mib:.0f}",
        )
        for farm in snapshot.farms
        for worker in farm.workers
    ]
    return {
        "headline": headline(snapshot),
        "counts": {state: snapshot.counts.get(state, 0) for state in STATES},
        "running": _rows(snapshot.running, snapshot.now),
        "workers": [[str(value) for value in worker] for worker in workers],
    }


def _rows(shown: Sequence[Row], now: float) -> list[dict[str, object]]:
    return [
        {
            "run": row.entry.folder,
            "state": row.entry.state,
            "report": row.has_report,
            "cells": cells(row, now),
        }
        for row in shown
    ]


def _of_folder(runs: Path, name: str) -> Entry | None:
    try:
        entry = queue.entry(runs, name[-16:])
        run_path(runs, entry)
    except (InputError, RunError):
        return None
    return entry if entry.folder == name else None
