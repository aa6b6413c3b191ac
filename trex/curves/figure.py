"""A dose curve as a small inline SVG: the shares, the band around them, and where they cross one half."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trex.curves.curve import SHARES, Curve
from trex.inference.statistics.dose_response import HALF
from trex.pages.figures import COLORS, INK, axes_of, styled, svg_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH_IN, HEIGHT_IN = 3.8, 2.4  # so small that the text stays readable on a telephone
BAND, LINE, THRESHOLD = COLORS[0], COLORS[0], COLORS[1]


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
