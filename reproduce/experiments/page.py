"""`experiment.html`: every cell of an experiment on one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reproduce import TEMPLATES
from reproduce.experiments.experiment import CellResult, Outcome
from reproduce.experiments.figures import latent_plane, violins
from reproduce.experiments.record import CODEC, RECORD, OutcomeRecord, accuracies, record_of
from reproduce.experiments.table import NAME, Row, command, markdown, rows, summary, values_of
from reproduce.experiments.test_set import TEST_SET
from reproduce.sheet.sheet import write_sheet
from trex.foundation.files import write_atomic
from trex.pages.page import link_below, page
from trex.pages.table import Column, Table, linked
from trex.runs.folder import REPORT

PAGE = "experiment.html"
TABLE = "experiment.md"


@dataclass(frozen=True)
class ShownCell:
    """A cell with its row and figures, and the link to its run's report ("" if that is not below the page)."""

    result: CellResult
    row: Row
    violins: str
    plane: str
    link: str


def write_page(outcome: Outcome, overrides: Sequence[str]) -> OutcomeRecord:
    """Write the page, the table, the contact sheet and the record, which is returned, into the experiment's folder."""
    record = record_of(outcome, overrides)
    write_atomic(outcome.folder / TABLE, markdown(outcome).encode())
    write_sheet(outcome)
    write_atomic(outcome.folder / RECORD, CODEC.text(record).encode())
    write_atomic(outcome.folder / PAGE, page_html(outcome, overrides).encode())
    return record


def page_html(outcome: Outcome, overrides: Sequence[str]) -> str:
    """The HTML of the page."""
    shown = [
        ShownCell(
            result,
            row,
            violins(result),
            latent_plane(result) if row.name in outcome.experiment.latents else "",
            link_below(outcome.folder / PAGE, result.place / REPORT),
        )
        for result, row in zip(outcome.results, rows(outcome), strict=True)
    ]
    links = {cell.row.name: cell.link for cell in shown}
    columns = (
        Column[Row](NAME.head, lambda row: linked(row.name, links[row.name])),
        *values_of(outcome),
        Column[Row]("from", lambda row: "; ".join(filter(None, (row.how, row.note)))),
    )
    pairs = outcome.experiment.pairs
    has_mistakes = any(cell.test_set is not None and cell.test_set.mistakes.count for cell in outcome.results)
    values: dict[str, object] = {
        "experiment": outcome.experiment,
        "shown": shown,
        "table": Table("Published and here", columns, [cell.row for cell in shown]),
        "pairs": pairs,
        "matrix": {cell.result.manifest.query.answer: cell for cell in shown if pairs},
        "has_test_set": outcome.dataset is not None,
        "test_set": outcome.folder / TEST_SET if has_mistakes else "",
        "summary": summary(outcome),
        "accuracies": accuracies(outcome),
        "command": command(outcome, overrides),
    }
    return page(TEMPLATES / PAGE, values)
