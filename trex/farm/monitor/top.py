"""`trex queue watch`: the queue and its workers as a table that refreshes itself."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from trex.farm.monitor.overview import Overview, Row, live, overview
from trex.farm.queue.words import SHORT, tally
from trex.farm.status import FarmStatus
from trex.foundation.words import counted, escaped, span, whole_percent
from trex.search.progress import PHASES, Status

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
TEXT_WIDTHS = {"id": SHORT, "state": 9, "question": 40, "settings": 32, "where": 32}  # widths in characters
MIN_WIDTHS = {"where": 10, "question": 12, "settings": 12}  # with less room they are left out
# On a terminal, figures come first: columns are given room in this order.
ORDER = (*(column for column in COLUMNS if column not in MIN_WIDTHS), *MIN_WIDTHS)
GAP = 2


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
    return Group(Text(headline(snapshot)), *map(_farm, snapshot.farms), Text(), Rows(snapshot))


@dataclass(frozen=True)
class Rows:
    """The table of entries, with as many columns as the terminal has room for."""

    snapshot: Overview

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table for this width."""
        shown = self.snapshot
        rows = [
            {column: escaped(cell) for column, cell in zip(COLUMNS, cells(row, shown.now), strict=True)}
            for row in (*shown.running, *shown.waiting, *shown.ended)
        ]
        table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
        widths = fitting_widths(rows, options.max_width)
        for column, width in widths.items():
            justify: JustifyMethod = "left" if column in TEXT_WIDTHS else "right"
            table.add_column(column, justify=justify, no_wrap=True, overflow="ellipsis", width=width)
        for row in rows:
            table.add_row(*(Text(row[column]) for column in widths))
        yield table


def fitting_widths(rows: Sequence[Mapping[str, str]], number: int) -> dict[str, int]:
    """The columns that fit into this many characters, in order, each with its width."""
    found: dict[str, int] = {}
    for column in ORDER:
        longest = max(map(cell_len, [column, *(row[column] for row in rows)]))
        wanted = min(longest, TEXT_WIDTHS.get(column, longest))
        width = min(wanted, number)
        if width < min(wanted, MIN_WIDTHS.get(column, wanted)):
            continue
        found[column] = width
        number -= width + GAP
    return found


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
        _found(search) if search and search.phase in PHASES and search.renders else "",
        "" if current is None else f"{current.renders_per_s:.2f}",
        "" if current is None else f"{current.workers}",
        "" if current is None or current.left_s is None else span(current.left_s),
    )


def _found(search: Status) -> str:
    return f"{search.found}/{search.wanted}" if search.wanted else f"{search.found}"


def where(row: Row) -> str:
    """The entry's outcome or progress."""
    if row.ending or row.entry.why or row.status is None or row.entry.state == "done":
        return row.ending or row.entry.why
    search = row.status.search
    return (
        f"{PHASES.get(search.phase, search.phase)}{f' {search.done}/{search.total}' if search.total else ''}"
    )


def _farm(farm: FarmStatus) -> Text:
    workers = [f"{worker.name} {worker.entry[:SHORT] or 'idle'}" for worker in farm.workers]
    return Text(escaped(f"{farm.owner}: {', '.join(workers) or 'its workers are starting'}"))
