"""The plots of a report as inline SVG, in the page's font and its light or dark colors."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import numpy as np

from trex.inference.types import Draw, Floats, Target
from trex.worlds.latents import Latent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

WIDTH_IN, HEIGHT_IN = 4.6, 2.5
MARGINS = {
    "left": 0.13,
    "right": 0.98,
    "top": 0.96,
    "bottom": 0.2,
}  # of the figure: room for labels and 6 digits
INK = "#010203"  # becomes currentColor
WINDOW = 25  # steps of the acceptance's moving average
COLORS = tuple(f"#0a0b{k:02x}" for k in range(8))  # become the page's --line-0 to --line-7
STYLE: dict[RcKeyType, object] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "trex",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def trace(chains: Sequence[Sequence[Draw[Latent]]], target: Target) -> str:
    """The confidence of each chain's state, step by step, with a dot at each hit."""
    with styled():
        figure, axes = axes_of("step", "confidence")
        for k, chain in enumerate(chains):
            values = np.array([target.confidence(draw.state.log_probs) for draw in chain])
            hits = np.array([target.is_hit(draw.state.log_probs) for draw in chain])
            steps = np.array([draw.index for draw in chain])
            axes.step(steps, values, where="post", linewidth=1, color=COLORS[k % len(COLORS)])
            axes.plot(steps[hits], values[hits], ".", markersize=4, color=COLORS[k % len(COLORS)])
        axes.set_ylim(-0.03, 1.03)
        return svg_of(figure)


def acceptance(chains: Sequence[Sequence[Draw[Latent]]]) -> str:
    """The acceptance rate of each chain, averaged over 25 steps."""
    with styled():
        figure, axes = axes_of("step", f"accepted, mean of {WINDOW}")
        for k, chain in enumerate(chains):
            values = rolling(np.array([float(draw.is_accepted) for draw in chain]), WINDOW)
            axes.plot([draw.index for draw in chain], values, linewidth=1, color=COLORS[k % len(COLORS)])
        axes.set_ylim(-0.03, 1.03)
        return svg_of(figure)


def prior_histogram(draws: Sequence[Draw[Latent]], target: Target, many: str) -> str:
    """The model's confidence in prior draws; `many` is their plural noun."""
    with styled():
        figure, axes = axes_of("confidence", f"prior {many}")
        values = [target.confidence(draw.state.log_probs) for draw in draws]
        axes.hist(values, bins=np.linspace(0, 1, 26).tolist(), color=COLORS[0])
        axes.set_yscale("symlog", linthresh=1)
        top = max(10, len(values))
        axes.set_yticks([0, *(10**k for k in range(len(str(top))))], labels=None)
        axes.set_ylim(0, top * 1.3)
        axes.yaxis.set_major_formatter("{x:.0f}")
        axes.minorticks_off()
        return svg_of(figure)


def rolling(values: Floats, window: int) -> Floats:
    """The moving average of the last `window` values, of fewer at the start."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    ends = np.arange(1, len(values) + 1)
    begins = np.maximum(0, ends - window)
    means: Floats = (sums[ends] - sums[begins]) / (ends - begins)
    return means


def styled() -> AbstractContextManager[None]:
    """A context with Matplotlib's settings for these pages."""
    from matplotlib import rc_context

    return rc_context(STYLE)


def axes_of(x: str, y: str) -> tuple[Figure, Axes]:
    """A figure of a report's size with labelled axes."""
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(WIDTH_IN, HEIGHT_IN)
    )  # margins are fixed: a layout solver takes half of the time
    axes = figure.add_subplot()
    figure.subplots_adjust(**MARGINS)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    return figure, axes


def svg_of(figure: Figure) -> str:
    """The figure as inline SVG in the page's font and colors."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    head = r'<svg [^>]*?viewBox="([^"]*)"[^>]*>'
    text = re.sub(head, r'<svg viewBox="\1" aria-hidden="true">', text, count=1)
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", text)
    text = text.replace(INK, "currentColor").replace("xlink:href", "href")
    for k, color in enumerate(COLORS):
        text = text.replace(color, f"var(--line-{k})")
    return text.strip()
