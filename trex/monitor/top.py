"""`trex top`: the queue and its workers as a table that refreshes itself."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trex.foundation.percent import whole_percent
from trex.foundation.printable import escaped
from trex.foundation.words import counted, span
from trex.monitor.overview import Overview, Row, live, overview
from trex.monitor.status import FarmStatus
from trex.queue.words import SHORT, tally
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
MIN_WIDTHS = {"question": 12, "settings": 12, "where": 10}  # minimum widths in a narrow terminal
TEXT_WIDTHS = {"id": SHORT, "state": 9, "question": 40, "settings": 32, "where": 32}  # widths in characters


def run_top(runs: Path, shown: int, *, once: bool) -> None:
    """Show the table until Ctrl-C; print it once if `once` is set or if there is no terminal."""
    console = Console()
    if once or not console.is_terminal:
        console.print(view(overview(runs, time.time(), shown)))
        return
    with Live(console=console, auto_refresh=False, screen=True) as screen:
        while True:
            screen.update(view(overview(runs, time.time(), shown)), refresh=True)
            time.sleep(REFRESH_S)


def view(snapshot: Overview) -> Group:
    """The headline and the table."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in COLUMNS:
        is_text = column in TEXT_WIDTHS
        table.add_column(
            column,
            justify="left" if is_text else "right",
            no_wrap=True,
            overflow="ellipsis",
            max_width=TEXT_WIDTHS.get(column),
            min_width=MIN_WIDTHS.get(column, TEXT_WIDTHS.get(column, len(column))),
        )
    for row in (*snapshot.running, *snapshot.waiting, *snapshot.ended):
        table.add_row(*(Text(escaped(cell).replace("\xa0", " ")) for cell in cells(row, snapshot.now)))
    return Group(Text(headline(snapshot)), *map(_farm, snapshot.farms), Text(), table)


def headline(snapshot: Overview) -> str:
    """One line: entries by state, workers, and renders per second."""
    return f"{tally(snapshot.counts)}; {counted(snapshot.workers, 'worker')}, {snapshot.renders_per_s:.2f} renders/s"


def cells(row: Row, now: float) -> tuple[str, ...]:
    """One entry's cells, in the order of COLUMNS."""
    entry, status = row.entry, row.status
    search = status.search if status else None
    current = live(status, now) if entry.state == "running" else None
    return (
        entry.id[:SHORT],
        entry.state,
        entry.question,
        row.settings,
        where(row),
        "" if row.best is None else f"{row.best:.3f}",
        whole_percent(search.accepted / search.steps) if search and search.steps else "",
        "" if search is None else f"{search.found}" + (f"/{search.wanted}" if search.wanted else ""),
        "" if current is None else f"{current.renders_per_s:.2f}",
        "" if current is None else f"{current.workers}",
        "" if current is None or current.left_s is None else span(current.left_s),
    )


def where(row: Row) -> str:
    """The entry's outcome or progress."""
    search = row.status.search if row.status else None
    so_far = f"{PHASES.get(search.phase, search.phase)} {search.done}/{search.total}" if search else ""
    return row.ending or row.entry.why or so_far


def _farm(farm: FarmStatus) -> Text:
    workers = [f"{one.name} {one.entry[:SHORT] or 'idle'}" for one in farm.workers]
    return Text(escaped(f"{farm.owner}: {', '.join(workers)}"))
