"""The page of a publication (`docs/PAPER.md` here): a row for every table and figure."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from reproduce.experiments.record import OutcomeRecord, read_outcome
from reproduce.paper.agreement import RULE, Compared, compared
from reproduce.paper.details import details
from reproduce.paper.paper_file import Item, Paper, Verdict
from reproduce.paper.pictures import links, pictures
from reproduce.sheet.sheet import SHEET
from trex.pages.table import Column, Table

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
    columns = (*COLUMNS, Column[Compared]("page", lambda row: links(row, place)))
    return (
        f"# {paper.title}\n\n{summary(rows)}. Made by `{command}` from the records that "
        "`python -m reproduce experiment` writes (`experiment.json`). A row of another command was written by hand "
        "from the figures of the page in its last "
        f"column, its verdict too.\n\n{RULE} That is a weak test: a level set of width .05 has a mean of .960 ± .030 "
        "whatever the model, so such numbers say that the sampler reached the set, and little about the model. Means "
        "are over the level set, ± their deviation. Bounds and intervals are 95 %.\n\n"
        f"{Table('', columns, rows).markdown()}{details(rows)}{pictures(rows, place)}"
    )
