"""Panels of plots: violins of each cell, latents in the plane, and how the test set is confused."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from reproduce.experiments.experiment import CellResult, Outcome
from reproduce.experiments.figures import draw_plane, draw_violins, has_violins, latent_groups
from reproduce.sheet.canvas import WIDTH_PX
from trex.trials.baseline.baseline import Baseline

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

DPI = 80
COLUMNS = 4  # violins beside each other
ROW_IN, PLANE_IN, TITLE_IN = 1.5, 3.2, 0.35  # heights
MAX_VIOLINS = 12  # a matrix has 45 cells, whose violins would fill a page
PALETTE = tuple(f"C{k}" for k in range(8))  # Matplotlib's own colors
REST = "0.6"  # gray, of what has no color of its own


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
