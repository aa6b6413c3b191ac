"""The figures of the concept pages, in light and dark colors, and a chart of measured speeds. Each gives an SVG."""

from __future__ import annotations

import html
import io
import json
import math

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from benchmarks.documents.tools import ROOT
from trex.worlds.costs import CPU_S

CARD = ROOT / "reproduce" / "measured" / "gpu_h200.jsonl"
STYLE = """
.card { fill: #ffffff } .box { fill: #eef3f3; stroke: #7c9a99 }
.line { stroke: #5b6b6b; fill: none; stroke-width: 1.6 } .arrow { fill: #5b6b6b }
.set { fill: #f6d5cf; stroke: #c0492f } .hit { fill: #c0492f } .dot { fill: #9aa8a8 }
.chain { stroke: #0f766e; fill: none; stroke-width: 1.8 } .step { fill: #0f766e } .thick { stroke-width: 6 }
.even { fill: none; stroke: #5b6b6b; stroke-width: 1.3 }
text { font: 14px system-ui, sans-serif; fill: #1d2727 } .small { font-size: 13px; fill: #4d5b5b }
.strong { font-weight: 600 }
@media (prefers-color-scheme: dark) {
.card { fill: #1d2327 } .box { fill: #27343a; stroke: #6c8b8a } .line { stroke: #a9b8b8 } .arrow { fill: #a9b8b8 }
.set { fill: #55302b; stroke: #e5836d } .hit { fill: #ef8f79 } .dot { fill: #71807f } .chain { stroke: #4fc3b5 }
.step { fill: #4fc3b5 } .even { stroke: #a9b8b8 } text { fill: #e4eaea } .small { fill: #b4c0c0 } }
""".strip()
# Upper and lower end of the interval over the rate: docs/concepts/statistics.md, "Prior sample"; reproduce/LOG.md has
# the simulations (medians, rate 0.5%, bank of 5,000, rank correlation 0.8).
DESIGNS = (
    ("100 chosen", 0.37, 15.0),
    ("and 500 spread evenly", 0.46, 2.4),
    ("and 1,000 spread evenly", 0.50, 1.9),
)


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "middle") -> str:
    """Words at a place."""
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{html.escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, *lines: str) -> str:
    """A box with lines of text, the first in bold."""
    top = y + height / 2 - 9 * (len(lines) - 1) + 5
    words = (
        text(x + width / 2, top + 18 * n, line, "small" if n else "strong") for n, line in enumerate(lines)
    )
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="8" class="box"/>' + "".join(
        words
    )


def arrow(*points: tuple[float, float]) -> str:
    """A line through the points, with a head at the last."""
    path = " ".join(f"{x:g},{y:g}" for x, y in points)
    return f'<polyline points="{path}" class="line" marker-end="url(#head)"/>'


def svg(width: int, height: int, title: str, *parts: str) -> str:
    """A whole figure, on a card of its own, so that it can be read on any ground."""
    head = (
        '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 10 5 0 10z" class="arrow"/></marker>'
    )
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{STYLE}</style>",
            f"<defs>{head}</defs>",
            f'<rect width="{width}" height="{height}" rx="10" class="card"/>',
            *parts,
            "</svg>\n",
        )
    )


def loop() -> str:
    """World, picture, model, search: one loop."""
    return svg(
        720, 250, "The loop of a search",
        box(20, 40, 150, 66, "World", "draws a scene"),
        box(205, 40, 150, 66, "Renderer", "makes a picture"),
        box(390, 40, 150, 66, "Model", "says: 1 (99%)"),
        box(575, 40, 125, 66, "Target", "sure of 1 cube"),
        arrow((170, 73), (203, 73)), arrow((355, 73), (388, 73)), arrow((540, 73), (573, 73)),
        box(205, 165, 335, 56, "Search", "keeps what is near, changes one thing"),
        arrow((637, 106), (637, 193), (542, 193)), arrow((205, 193), (95, 193), (95, 108)),
        text(628, 150, "how near?", "small", "end"), text(85, 150, "next scene", "small", "end"),
    )  # fmt: skip


def level_set() -> str:
    """Random scenes, the level set, chains into it, and the spread sample."""
    rng = np.random.default_rng(4)
    center, reach = np.array([520.0, 105.0]), np.array([78.0, 52.0])
    parts = [
        f'<ellipse cx="{center[0]:g}" cy="{center[1]:g}" rx="{reach[0]:g}" ry="{reach[1]:g}" class="set"/>'
    ]
    scenes = rng.uniform((30, 25), (690, 225), (150, 2))
    inside = (((scenes - center) / reach) ** 2).sum(axis=1) < 1
    parts += [
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" class="{"hit" if hit else "dot"}"/>'
        for (x, y), hit in zip(scenes, inside, strict=True)
    ]
    parts += [f'<circle cx="{x:.0f}" cy="{y:.0f}" r="7" class="even"/>' for x, y in scenes[::6]]
    for begin in ((330.0, 190.0), (390.0, 55.0)):
        place, steps = np.array(begin), [np.array(begin)]
        for _ in range(9):
            place = place + (center - place) * rng.uniform(0.05, 0.42) + rng.normal(0, 11, 2)
            steps.append(place)
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in steps)
        parts.append(f'<polyline points="{path}" class="chain"/>')
        parts += [f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3.4" class="step"/>' for x, y in steps]
    legend = (
        ("dot", 40, "random scene", 3.5), ("even", 190, "spread evenly: bounds the rate", 7),
        ("step", 435, "chain", 3.5), ("hit", 520, "random scene that is a hit", 3.5),
    )  # fmt: skip
    for kind, x, words, radius in legend:
        parts.append(f'<circle cx="{x}" cy="254" r="{radius}" class="{kind}"/>')
        parts.append(text(x + 13, 259, words, "small", "start"))
    parts.append(text(center[0] + 60, 44, "level set", "strong", "start"))
    return svg(720, 276, "Chains walk from random scenes into the level set", *parts)


def finding() -> str:
    """From a hit to a sentence."""
    return svg(
        720, 210, "From a hit to a finding",
        box(20, 20, 205, 74, "Trace", "200 questions: the cylinder", "is read as a cube"),
        box(257, 20, 205, 74, "Leave one out", "without the sphere beside it", "the model is right"),
        box(495, 20, 205, 74, "Compare", "random scenes: it happens", "where objects overlap"),
        arrow((225, 57), (255, 57)), arrow((462, 57), (493, 57)),
        box(70, 130, 580, 58, "Finding", "The model reads a cylinder as a cube where it overlaps another object."),
        arrow((597, 94), (597, 128)),
    )  # fmt: skip


def intervals() -> str:
    """What a spread sample does to the interval of a rate."""

    def place(ratio: float) -> float:
        return 370 + 170 * math.log10(ratio)

    parts = [
        f'<line x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="34" y2="170" class="even" '
        f'opacity="{0.9 if tick == 1 else 0.25}"/>' + text(place(tick), 190, f"{tick:g}", "small")
        for tick in (0.1, 0.3, 1, 3, 10, 30)
    ]
    for row, (words, low, high) in enumerate(DESIGNS):
        y = 58 + 42 * row
        parts.append(text(178, y + 5, words, "small", "end"))
        parts.append(
            f'<line x1="{place(low):.1f}" x2="{place(high):.1f}" y1="{y}" y2="{y}" class="chain thick"/>'
        )
        parts += [text(place(low) - 8, y + 5, f"{low:g}", "small", "end")]
        parts += [text(place(high) + 8, y + 5, f"{high:g}", "small", "start")]
    parts.append(text(place(1), 24, "the true rate", "strong"))
    parts.append(text(place(1), 212, "end of the 95% interval, divided by the rate", "small"))
    return svg(720, 224, "Intervals of a rate, with and without a spread sample", *parts)


def gpu() -> str:
    """Pictures a second of a core and of an H200, as they were measured."""
    figures = {item["name"]: item["value"] for item in map(json.loads, CARD.read_text().splitlines())}
    names = ["sketch", "fast", "coarse", "sharp", "reference", "clevr"]
    bars = (
        ("one CPU core", [1 / CPU_S[name] for name in names], "#9aa5b1"),
        ("H200, one process", [figures[f"gpu.cuda.per_s.{name}.1"] for name in names], "#4c9f70"),
        ("H200, four processes", [figures.get(f"gpu.cuda.per_s.{name}.4", 0.0) for name in names], "#1b6b43"),
    )
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "trex", "font.family": "sans-serif"}):
        figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
        for place, (label, values, color) in enumerate(bars):
            at = [index + 0.27 * (place - 1) for index in range(len(names))]
            drawn = axes.bar(at, values, 0.25, label=label, color=color)
            axes.bar_label(
                drawn, [f"{value:.2g}" if value else "" for value in values], padding=2, fontsize=8
            )
        axes.set_yscale("log")
        axes.set_ylim(0.004, 300)
        axes.set_xticks(range(len(names)), names)
        axes.set_ylabel("pictures a second")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, ncols=3, loc="upper right", fontsize=9)
        figure.savefig(buffer, format="svg", metadata={"Date": None})
        plt.close(figure)
    return buffer.getvalue()
