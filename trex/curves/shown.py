"""A dose curve for its readers: the tables, the text of the terminal, the figure, and what notebooks show."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from trex.curves.curve import SHARES, Curve, CurveScene
from trex.foundation.words import between, counted, whole_percent
from trex.inference.statistics.dose_response import HALF
from trex.pages.figures import COLORS, INK, axes_of, styled, svg_of
from trex.pages.notebook_html import block_html
from trex.pages.table import Column, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOT_REACHED = "–"
AS_FOUND = "as found"
WIDTH_IN, HEIGHT_IN = 3.8, 2.4  # so small that the text stays readable on a telephone
BAND, LINE, THRESHOLD = COLORS[0], COLORS[0], COLORS[1]
# The page's colors of lines, each of a brightness that shows on white and on black, as a notebook may be either.
FRAME = '<div style="max-width:460px;--line-0:#14958a;--line-1:#d9622b">{}</div>'


@dataclass(frozen=True, repr=False)
class ShownCurve(Curve):
    """A curve that draws itself."""

    def _repr_html_(self) -> str:
        """What it says, the figure and the doses, for notebooks."""
        drawn, table = FRAME.format(figure(self)), str(dose_table(self).html(f"Doses of {self.over}"))
        note = f"{counted(len(self.scenes), 'scene')}; shaded: the 95% band, which holds at all doses at once"
        return block_html(self.headline, self.details, [drawn, table], note)


def figure(curve: Curve) -> str:
    """The curve in the page's font and colors; doses that no scene reaches are left out.

    There is no band where all scenes are as they were found.
    """
    reached = [k for k, n in enumerate(curve.counts) if n]
    doses = np.array(curve.doses)[reached]
    means = np.array([mean for mean in curve.means if mean is not None])
    tested = [k for k in reached if curve.tested[k]]
    low, high = (np.array([curve.band[k][end] for k in tested]) for end in (0, 1))
    at = np.array(curve.doses)[tested]
    with styled():
        drawn, axes = axes_of(curve.quantity.axis, SHARES[curve.event])
        drawn.set_size_inches(WIDTH_IN, HEIGHT_IN)
        drawn.subplots_adjust(left=0.19, bottom=0.22)
        axes.axhline(HALF, color=INK, linewidth=0.8, linestyle=":")
        if curve.quantity.is_ordered:
            axes.fill_between(at, low, high, color=BAND, alpha=0.22, linewidth=0)
            axes.plot(doses, means, "-", color=LINE, linewidth=1.6)
            _mark_threshold(curve, axes)
        else:
            axes.vlines(at, low, high, color=BAND, alpha=0.4, linewidth=3)
        axes.plot(doses, means, "o", color=LINE, markersize=4)
        axes.set_ylim(-0.04, 1.04)
        axes.yaxis.set_major_formatter("{x:.0%}")
        if curve.quantity.figure.endswith("%"):
            axes.xaxis.set_major_formatter("{x:.0%}")
        return svg_of(drawn)


def _mark_threshold(curve: Curve, axes: Axes) -> None:
    """The threshold as a diamond with its interval, if both are shown."""
    found = curve.threshold
    if found.value is not None and found.up_to is not None and found.since is not None and found.is_crossed:
        axes.plot([found.up_to, found.since], [HALF, HALF], color=THRESHOLD, linewidth=2.5)
        axes.plot([found.value], [HALF], "D", color=THRESHOLD, markersize=5.5)


def dose_table(curve: Curve) -> Table[int]:
    """A row for each dose: scenes, their mean share, the band, the mean confidence."""
    means, confidences = curve.means, curve.confidences

    def share(k: int) -> str:
        mean = means[k]
        return NOT_REACHED if mean is None else whole_percent(mean)

    columns = (
        Column[int](curve.over, lambda k: curve.quantity.shown(curve.doses[k]), is_number=True),
        Column[int]("scenes", lambda k: str(curve.counts[k]), is_number=True),
        Column[int](SHARES[curve.event], share, is_number=True),
        Column[int]("95% band", lambda k: _interval(curve, k)),
        Column[int]("mean confidence", lambda k: _two_digits(confidences[k]), is_number=True),
        Column[int]("outside the prior", lambda k: str(curve.outside(k)), is_number=True),
    )
    return Table("Each dose", columns, range(len(curve.doses)))


def scene_table(curve: Curve) -> Table[tuple[int, CurveScene]]:
    """A row for each scene: its confidence at each dose."""
    columns = [
        Column[tuple[int, CurveScene]]("scene", lambda row: str(row[0])),
        *(
            Column[tuple[int, CurveScene]](curve.quantity.shown(dose), partial(_cell, k), is_number=True)
            for k, dose in enumerate(curve.doses)
        ),
    ]
    return Table("Confidence of each scene at each dose", columns, list(enumerate(curve.scenes, start=1)))


def text(curve: Curve) -> str:
    """The curve for the terminal."""
    lines = [*curve.sentences, "", *dose_table(curve).text("  ")]
    table = scene_table(curve)
    return "\n".join([*lines, "", f"{table.label}:", *table.text("  ")])


def _interval(curve: Curve, k: int) -> str:
    low, high = map(whole_percent, curve.band[k])
    if curve.counts[k] and not curve.tested[k]:
        return AS_FOUND
    return between(low, high) if curve.counts[k] else NOT_REACHED


def _cell(k: int, row: tuple[int, CurveScene]) -> str:
    point = row[1].points[k]
    return NOT_REACHED if point is None else _two_digits(point.confidence)


def _two_digits(value: float | None) -> str:
    return NOT_REACHED if value is None else f"{value:.2f}"
