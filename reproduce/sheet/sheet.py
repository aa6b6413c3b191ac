"""`sheet.webp` beside an experiment's record: what its page draws, in one small picture.

The matrix of pictures of the test set is beside it in a file of its own, `test-set/sheet.webp`: a data set's pictures
may not be passed on with the documents. The panels of plots are violins of each cell, latents in the plane, and how
the test set is confused.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reproduce.experiments.experiment import CellResult, Outcome
from reproduce.experiments.figures import draw_plane, draw_violins, has_violins, latent_groups
from reproduce.experiments.test_set import TEST_SET
from reproduce.sheet.canvas import WIDTH_PX, packed, stacked
from reproduce.sheet.galleries import galleries, matrix, strip, test_matrix
from trex.foundation.files import make_folder, write_atomic
from trex.trials.baseline.baseline import Baseline

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

SHEET = "sheet.webp"
DPI = 80
COLUMNS = 4  # violins beside each other
ROW_IN, PLANE_IN, TITLE_IN = 1.5, 3.2, 0.35  # heights
MAX_VIOLINS = 12  # a matrix has 45 cells, whose violins would fill a page
PALETTE = tuple(f"C{k}" for k in range(8))  # Matplotlib's own colors
REST = "0.6"  # gray, of what has no color of its own


def write_sheet(outcome: Outcome) -> None:
    """Write the sheet into the experiment's folder, and one with the test set's pictures into that of the test set."""
    write_atomic(outcome.folder / SHEET, packed(stacked(panels(outcome))))
    if outcome.dataset is not None and outcome.experiment.pairs:
        side_by_side = stacked([matrix(outcome), test_matrix(outcome)])
        make_folder(outcome.folder / TEST_SET)
        write_atomic(outcome.folder / TEST_SET / SHEET, packed(side_by_side))


def panels(outcome: Outcome) -> list[Image]:
    """The panels that the experiment has, in the order of its page."""
    found = [_pictures(outcome)]
    plots = (plane_panel(outcome), None if outcome.experiment.pairs else violins_panel(outcome.results))
    found += [panel for panel in plots if panel is not None]
    counted = [result.test_set for result in outcome.results if result.test_set is not None]
    by_model = {baseline.model_hash: baseline for baseline in counted}
    return [*found, *(confusion_panel(baseline) for baseline in by_model.values() if baseline.confusion)]


def _pictures(outcome: Outcome) -> Image:
    if outcome.experiment.pairs:
        return matrix(outcome)
    return strip(outcome) if outcome.experiment.form == "strip" else galleries(outcome)


def violins_panel(results: Sequence[CellResult]) -> Image | None:
    """The named answers' probabilities in the first cells that have enough draws; None if none has."""
    shown = [result for result in results if has_violins(result)][:MAX_VIOLINS]
    if not shown:
        return None
    rows = -(-len(shown) // COLUMNS)
    figure = _figure(rows * ROW_IN + TITLE_IN, "Probabilities over the level set")
    for number, result in enumerate(shown, start=1):
        axes = figure.add_subplot(rows, COLUMNS, number)
        draw_violins(axes, result, PALETTE)
        axes.set_title(result.cell.name, fontsize=8)
    return _raster(figure)


def plane_panel(outcome: Outcome) -> Image | None:
    """Latents in the plane, for the cells that the experiment names; None if it names none."""
    named = [result for result in outcome.results if result.cell.name in outcome.experiment.latents]
    shown = [
        (result.cell.name, groups) for result in named if (groups := latent_groups(result, PALETTE, REST))
    ]
    if not shown:
        return None
    figure = _figure(PLANE_IN + TITLE_IN, "Latents in the plane (t-SNE)")
    for number, (name, groups) in enumerate(shown, start=1):
        axes = figure.add_subplot(1, max(2, len(shown)), number)
        draw_plane(axes, groups)
        axes.set_title(name, fontsize=8)
    return _raster(figure)


def confusion_panel(baseline: Baseline) -> Image:
    """How often each label of the test set (row) gets each answer (column); numbers only, no pictures."""
    counts = baseline.confusion
    answers = list(next(iter(counts.values())))
    table = np.array([[row[answer] for answer in answers] for row in counts.values()], float)
    figure = _figure(PLANE_IN + 1.0, f"The model on the test set ({baseline.examined:,} pictures)")
    axes = figure.add_subplot()
    axes.imshow(table / table.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (y, x), count in np.ndenumerate(table):
        if count:
            ink = "white" if count > table[y].sum() / 2 else "black"
            axes.text(x, y, f"{count:.0f}", ha="center", va="center", fontsize=7, color=ink)
    axes.set_xticks(range(len(answers)), labels=answers, fontsize=7)
    axes.set_yticks(range(len(counts)), labels=list(counts), fontsize=7)
    axes.set_xlabel("answer", fontsize=8)
    axes.set_ylabel("label", fontsize=8)
    return _raster(figure)


def _figure(height_in: float, title: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_PX / DPI, height_in), dpi=DPI, layout="constrained")
    figure.suptitle(title, fontsize=9, x=0.0, ha="left")
    return figure


def _raster(figure: Figure) -> Image:
    from matplotlib import rc_context
    from PIL import Image

    buffer = io.BytesIO()
    with rc_context({"font.size": 8}):
        figure.savefig(buffer, format="png")
    return Image.open(buffer).convert("RGB")
