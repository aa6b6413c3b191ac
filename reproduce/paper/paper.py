"""The page of a publication (`docs/PAPER.md` here): a row for every table and figure, then cells and pictures."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from urllib.parse import quote

from reproduce.experiments.record import CellRecord, OutcomeRecord, read_outcome
from reproduce.paper.agreement import RULE, Compared, chosen_cells, compared, values_words
from reproduce.paper.paper_file import Item, Paper, Verdict
from reproduce.sheet.sheet import SHEET
from trex.foundation.words import capitalized
from trex.pages.table import Column, Table
from trex.worlds.costs import CPU_S

Run = Callable[[Item, Path], None]  # carries out an item's experiment in this folder, or resumes it

WORDS: dict[Verdict, str] = {
    "agrees": "agree",
    "differs": "differ",
    "incomplete": "incomplete",
    "not comparable": "cannot be compared",
    "absent": "absent",
}
COLUMNS: tuple[Column[Compared], ...] = (
    Column("table or figure", lambda row: f"**{row.item.item}**: {row.item.what}"),
    Column("published", lambda row: row.published or "–"),
    Column("here", lambda row: row.here or "–"),
    Column("verdict", lambda row: f"**{row.verdict}**" + (f": {row.why}" if row.why else "")),
    Column("command", lambda row: f"`{row.command}`" if row.command else "–"),
)


def compare_all(paper: Paper, outputs: Path, run: Run | None = None) -> tuple[Compared, ...]:
    """All rows, from the records below `outputs`; `run` first carries out each experiment that has none."""
    return tuple(_row(item, outputs / item.folder, run) for item in paper.items)


def _row(item: Item, folder: Path, run: Run | None) -> Compared:
    record = _record(item, folder, run)
    row = replace(compared(item, record, item.command or command_of(item)), record=record)
    if record is None or not (folder / SHEET).is_file():
        return row
    has_test_set = any(cell.test_set is not None for cell in record.cells)
    return replace(row, sheet=str(folder / SHEET), has_test_set=has_test_set)


def _record(item: Item, folder: Path, run: Run | None) -> OutcomeRecord | None:
    if not item.experiment:
        return None
    record = read_outcome(folder)
    if record is None and run is not None:
        run(item, folder)
        record = read_outcome(folder)
    return record


def command_of(item: Item) -> str:
    """The command that makes an item's record."""
    words = ["python", "-m", "reproduce", "experiment", item.experiment]
    if item.output:
        words += ["--out", f"runs/experiments/{item.output}"]
    for option in item.set:
        words += ["--set", option]
    return shlex.join(words)


def summary(rows: Sequence[Compared]) -> str:
    """How many items have each verdict."""
    counts = Counter[str](row.verdict for row in rows)
    parts = ", ".join(f"{counts[verdict]} {words}" for verdict, words in WORDS.items())
    return f"Of {len(rows)} tables and figures: {parts}"


def markdown(paper: Paper, rows: Sequence[Compared], command: str, place: Path) -> str:
    """The page in Markdown, with the links that it needs in this place."""
    columns = (*COLUMNS, Column[Compared]("page", lambda row: _links(row, place)))
    return (
        f"# {paper.title}\n\n{summary(rows)}. Made by `{command}` from the records that "
        "`python -m reproduce experiment` writes (`experiment.json`). A row of another command was written by hand "
        "from the figures of the page in its last "
        f"column, its verdict too.\n\n{RULE} That is a weak test: a level set of width .05 has a mean of .960 ± .030 "
        "whatever the model, so such numbers say that the sampler reached the set, and little about the model. Means "
        "are over the level set, ± their deviation. Bounds and intervals are 95%.\n\n"
        f"{Table('', columns, rows).markdown()}{_details(rows)}{_pictures(rows, place)}"
    )


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


CELLS: tuple[Column[Detail], ...] = (
    Column("level set", lambda row: row.cell.name),
    Column("published", lambda row: values_words(row.cell.published, row.cell.published_sd) or "–"),
    Column("here", lambda row: values_words(row.cell.means, row.cell.deviations) or "–"),
    Column("ending", lambda row: row.cell.ending),
    Column("hits of the prior's sample", lambda row: f"{row.cell.hits:,} of {row.cell.draws:,}"),
    Column("rate in the prior (95%)", lambda row: _rate(row.cell)),
    Column("distinct scenes", lambda row: f"{row.cell.distinct:,}"),
    Column("families, at most", lambda row: f"{row.cell.families:,}"),
    Column("renders", lambda row: f"{row.cell.renders:,}"),
    Column("cheap renders", lambda row: "–" if row.cell.cheap is None else f"{row.cell.cheap:,}"),
    Column("CPU hours", lambda row: row.cpu_hours),
)
CELLS_HEAD = (
    "\n## Cell by cell\n\nThe renders were made at the deciding look, and every scene that is counted as distinct was "
    "confirmed there under noise draws that no search had seen. CPU hours are those of the pictures, at the costs of "
    "one core in [Presets](../../docs/reference/presets.md), as if no two cells had shared one; a record "
    "without its cheap renders says what those at the deciding look cost.\n"
)


def _details(rows: Sequence[Compared]) -> str:
    """The tables of the items that ask for details; "" if there is none."""
    chosen = [(row.item, row.record) for row in rows if row.item.details and row.record is not None]
    return "".join([CELLS_HEAD, *starmap(_cells_of, chosen)]) if chosen else ""


def _cells_of(item: Item, record: OutcomeRecord) -> str:
    look = record.looks[0] if len(record.looks) == 1 else ""
    cells = [Detail(cell, look) for cell in chosen_cells(item, record)]
    total = sum(cell.cell.renders for cell in cells)
    words = f"Deciding look: {' and '.join(f'`{look}`' for look in record.looks)}; {total:,} renders in all."
    return f"\n### {item.item}, cell by cell\n\n{words}\n\n{Table('', CELLS, cells).markdown()}"


def _rate(cell: CellRecord) -> str:
    return f"below {cell.high:.2%}" if not cell.hits else f"{cell.low:.2%} to {cell.high:.2%}"


PICTURES_HEAD = "\n## Pictures\n\nAll are generated here; no picture of a data set is among them.\n"
LEFT_OUT = (
    " Pictures of the test set belong to others and are left out; the experiment's own page shows them."
)


def _links(row: Compared, place: Path) -> str:
    """The documents and pictures of a row, for the page in this place."""
    found = [f"[{Path(row.item.page).name}]({row.item.page})"] if row.item.page else []
    if row.sheet:
        left_out = ", without those of the test set" if row.has_test_set else ""
        found.append(f"[pictures]({_relative(row.sheet, place)}){left_out}")
    return " · ".join(found) or "–"


def _pictures(rows: Sequence[Compared], place: Path) -> str:
    """Every contact sheet once, under the first item that rests on it; "" if there is none."""
    first: dict[str, Compared] = {}
    for row in rows:
        if row.sheet:
            first.setdefault(row.sheet, row)
    return "".join([PICTURES_HEAD, *(_picture_of(row, place) for row in first.values())]) if first else ""


def _picture_of(row: Compared, place: Path) -> str:
    what = row.item.what
    words = f"{capitalized(what)}.{LEFT_OUT if row.has_test_set else ''}"
    return f"\n### {row.item.item}\n\n{words}\n\n![{what}]({_relative(row.sheet, place)})\n"


def _relative(path: str, place: Path) -> str:
    """The link from the page in this place to a file."""
    return quote(Path(os.path.relpath(path, place.parent)).as_posix())
