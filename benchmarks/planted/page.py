"""The table of all entrants in a page, and their curves: python -m benchmarks.planted.page.

The table stands between `<!-- planted -->` and `<!-- end -->`; `benchmarks.documents.pictures planted` draws curves.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.documents.figures import STYLE, text
from benchmarks.documents.tools import ROOT
from benchmarks.planted.run import Cell, cells, rows, table
from trex.foundation.files import write_atomic

RECORD = Path("reproduce/measured/planted.jsonl")
PAGE = Path("docs/reference/planted.md")
MARKED = re.compile(r"(<!-- planted -->\n).*?(<!-- end -->)", re.DOTALL)
WIDTH, HEIGHT, LEFT, BOTTOM, RIGHT = 720, 360, 60, 300, 560
COLORS = (
    "#0f766e",
    "#c0492f",
    "#5b6bb5",
    "#a16207",
    "#7c3aed",
    "#4d7c0f",
    "#be185d",
    "#0369a1",
    "#6b7280",
    "#111827",
    "#b45309",
)


def curves(known: Sequence[Cell]) -> str:
    """The share of faults that each entrant found, by budget (log scale), with intervals, as an SVG."""
    budgets = sorted({cell.budget for cell in known})
    names = sorted({cell.entrant for cell in known})
    span = max(1e-9, math.log(budgets[-1] / budgets[0]))

    def x(budget: int) -> float:
        return LEFT + 20 + (RIGHT - LEFT - 40) * (math.log(budget / budgets[0]) / span)

    def y(share: float) -> float:
        return BOTTOM - (BOTTOM - 30) * share

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"><style>{STYLE}</style>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" class="card"/>',
        f'<path d="M{LEFT},30 V{BOTTOM} H{RIGHT}" class="line"/>',
        *(text(LEFT - 8, y(share) + 5, f"{share:.0%}", "small", "end") for share in (0.0, 0.5, 1.0)),
        *(text(x(budget), BOTTOM + 22, f"{budget:,}", "small") for budget in budgets),
        text((LEFT + RIGHT) / 2, BOTTOM + 46, "renders", "small"),
        text(LEFT, 18, "faults found", "small", "start"),
    ]
    for k, name in enumerate(names):
        color = COLORS[k % len(COLORS)]
        mine = sorted((cell for cell in known if cell.entrant == name), key=lambda cell: cell.budget)
        points = [(x(cell.budget) + 3 * k, y(cell.found / max(1, cell.of))) for cell in mine]
        line = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        for cell, (px, py) in zip(mine, points, strict=True):
            parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="4" fill="{color}"/>')
            parts.append(f'<path d="M{px:.1f},{y(cell.low):.1f} V{y(cell.high):.1f}" stroke="{color}"/>')
        parts.append(f'<circle cx="{RIGHT + 24}" cy="{44 + 24 * k}" r="5" fill="{color}"/>')
        parts.append(text(RIGHT + 36, 49 + 24 * k, name, "", "start"))
    return "\n".join([*parts, "</svg>"]) + "\n"


def planted() -> str:
    """The curves of the record, for the documents."""
    return curves(cells(rows(ROOT / RECORD)))


def written(text: str, out: Path) -> str:
    """A page with the table of these runs between its marks."""
    return MARKED.sub(lambda found: f"{found[1]}{table(out)}\n{found[2]}", text)


def main() -> None:
    """Write the table into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RECORD, help="folder of runs, or a record of them")
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args()
    write_atomic(chosen.page, written(chosen.page.read_text(), chosen.out).encode())


if __name__ == "__main__":
    main()
