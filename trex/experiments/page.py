"""`experiment.html`: every cell of an experiment on one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trex.experiments.experiment import CellResult, Outcome
from trex.experiments.figures import latent_plane, violins
from trex.experiments.table import Row, command, markdown, rows, summary
from trex.foundation.files import write_atomic
from trex.pages.page import link_below, page
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


def write_page(outcome: Outcome, overrides: Sequence[str]) -> None:
    """Write the page and the table into the experiment's folder."""
    write_atomic(outcome.folder / TABLE, markdown(outcome).encode())
    write_atomic(outcome.folder / PAGE, page_html(outcome, overrides).encode())


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
    pairs = outcome.experiment.pairs
    values: dict[str, object] = {
        "experiment": outcome.experiment,
        "shown": shown,
        "pairs": pairs,
        "matrix": {one.result.manifest.query.answer: one for one in shown if pairs},
        "has_test_set": any(result.test_set for result in outcome.results),
        "summary": summary(outcome),
        "command": command(outcome, overrides),
    }
    return page("experiment.html", values)
