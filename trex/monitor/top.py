"""`trex top`: the queue and its workers as a table that refreshes itself."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trex.foundation.words import counted, span
from trex.monitor.overview import Overview, Row, live, overview
from trex.monitor.status import FarmStatus
from trex.queue.words import SHORT, printable, tally
from trex.search.progress import PHASES

REFRESH_S = 1.0
COLUMNS = (
    "id",
    "state",
    "question",
    "settings",
    "where",
    "best",
    "accepted",
    "found",
    "renders/s",
    "workers",
    "left",
)
LEAST = {"question": 12, "settings": 12, "where": 10}  # minimum widths in a narrow terminal
TEXTS = {"id": SHORT, "state": 9, "question": 40, "settings": 32, "where": 32}  # widths in characters


def run_top(runs: Path, shown: int, *, once: bool) -> None:
    """Show the table until Ctrl-C; only once if `once` or if there is no terminal."""
    console = Console()
    if once or not console.is_terminal:
        console.print(view(overview(runs, time.time(), shown)))
        return
    with Live(console=console, auto_refresh=False, screen=True) as screen:
        while True:
            screen.update(view(overview(runs, time.time(), shown)), refresh=True)
            time.sleep(REFRESH_S)


def view(seen: Overview) -> Group:
    """The headline and the table."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in COLUMNS:
        is_text = column in TEXTS
        table.add_column(
            column,
            justify="left" if is_text else "right",
            no_wrap=True,
            overflow="ellipsis",
            max_width=TEXTS.get(column),
            min_width=LEAST.get(column, TEXTS.get(column, len(column))),
        )
    for row in (*seen.running, *seen.waiting, *seen.ended):
        table.add_row(*map(Text, map(printable, cells(row, seen.now))))
    return Group(Text(headline(seen)), *map(_farm, seen.farms), Text(), table)


def headline(seen: Overview) -> str:
    """One line: entries by state, workers, and renders per second."""
    return f"{tally(seen.counts)}; {counted(seen.workers, 'worker')}, {seen.renders_per_s:.2f} renders/s"


def cells(row: Row, now: float) -> tuple[str, ...]:
    """One entry's cells, in the order of COLUMNS."""
    entry, status = row.entry, row.status
    search = status.search if status else None
    now_told = live(status, now) if entry.state == "running" else None
    return (
        entry.id[:SHORT],
        entry.state,
        entry.question,
        row.settings,
        where(row),
        "" if row.best is None else f"{row.best:.3f}",
        f"{search.accepted / search.steps:.0%}" if search and search.steps else "",
        "" if search is None else f"{search.found}" + (f"/{search.wanted}" if search.wanted else ""),
        "" if now_told is None else f"{now_told.renders_per_s:.2f}",
        "" if now_told is None else f"{now_told.workers}",
        "" if now_told is None or now_told.left_s is None else span(now_told.left_s),
    )


def where(row: Row) -> str:
    """The entry's outcome or progress."""
    search = row.status.search if row.status else None
    so_far = f"{PHASES.get(search.phase, search.phase)} {search.done}/{search.total}" if search else ""
    return row.ending or row.entry.why or so_far


def _farm(farm: FarmStatus) -> Text:
    workers = [f"{one.name} {one.entry[:SHORT] or 'idle'}" for one in farm.workers]
    return Text(printable(f"{farm.owner}: {', '.join(workers)}"))
