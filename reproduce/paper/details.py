"""The cells of an experiment one by one, below the page's table: rate, ending, families and cost of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import starmap

from reproduce.experiments.record import CellRecord, OutcomeRecord
from reproduce.paper.agreement import Compared, chosen_cells, values_words
from reproduce.paper.paper_file import Item
from trex.pages.table import Column, Table
from trex.worlds.costs import CPU_S

HOUR_S = 3600


@dataclass(frozen=True)
class Detail:
    """A cell and the look that decided it."""

    cell: CellRecord
    look: str

    @property
    def cpu_hours(self) -> str:
        """Documented CPU hours of the cell's pictures; "over" those at the deciding look if no others were kept."""
        if self.cell.cpu_s is not None:
            return f"{self.cell.cpu_s / HOUR_S:.2f}"
        cost = CPU_S.get(self.look)
        return f"over {self.cell.renders * cost / HOUR_S:.2f}" if cost is not None else "–"


COLUMNS: tuple[Column[Detail], ...] = (
    Column("level set", lambda row: row.cell.name),
    Column("published", lambda row: values_words(row.cell.published, row.cell.published_sd) or "–"),
    Column("here", lambda row: values_words(row.cell.means, row.cell.deviations) or "–"),
    Column("ending", lambda row: row.cell.ending),
    Column("hits of the prior's sample", lambda row: f"{row.cell.hits:,} of {row.cell.draws:,}"),
    Column("rate in the prior (95 %)", lambda row: _rate(row.cell)),
    Column("distinct scenes", lambda row: f"{row.cell.distinct:,}"),
    Column("families, at most", lambda row: f"{row.cell.families:,}"),
    Column("renders", lambda row: f"{row.cell.renders:,}"),
    Column("cheap renders", lambda row: "–" if row.cell.cheap is None else f"{row.cell.cheap:,}"),
    Column("CPU hours", lambda row: row.cpu_hours),
)
HEAD = (
    "\n## Cell by cell\n\nThe renders were made at the deciding look, and every scene that is counted as distinct was "
    "confirmed there under noise draws that no search had seen. CPU hours are those of the pictures, at the costs of "
    "one core in [PERFORMANCE.md](../../docs/PERFORMANCE.md), as if no two cells had shared one; a record "
    "without its cheap renders says what those at the deciding look cost.\n"
)


def details(rows: Sequence[Compared]) -> str:
    """The tables of the items that ask for details; "" if there is none."""
    chosen = [(row.item, row.record) for row in rows if row.item.details and row.record is not None]
    return "".join([HEAD, *starmap(_section, chosen)]) if chosen else ""


def _section(item: Item, record: OutcomeRecord) -> str:
    look = record.looks[0] if len(record.looks) == 1 else ""
    cells = [Detail(cell, look) for cell in chosen_cells(item, record)]
    total = sum(cell.cell.renders for cell in cells)
    words = f"Deciding look: {' and '.join(f'`{look}`' for look in record.looks)}; {total:,} renders in all."
    return f"\n### {item.item}, cell by cell\n\n{words}\n\n{Table('', COLUMNS, cells).markdown()}"


def _rate(cell: CellRecord) -> str:
    return f"below {cell.high:.2%}" if not cell.hits else f"{cell.low:.2%} to {cell.high:.2%}"
