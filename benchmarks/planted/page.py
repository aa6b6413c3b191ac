"""The table of all entrants in a page, and its chart: python -m benchmarks.planted.page.

The table stands between `<!-- planted -->` and `<!-- end -->`; `benchmarks.documents.pictures planted` draws it.
"""

from __future__ import annotations

import argparse
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
WIDTH, LEFT, RIGHT, TOP, ROW = 720, 130, 560, 44, 16


def chart(known: Sequence[Cell]) -> str:
    """The share of faults that each entrant found, with intervals, a line a budget, as an SVG; the best first."""
    best = {
        cell.entrant: (-cell.found / max(1, cell.of), cell.entrant) for cell in sorted(known, key=_by_budget)
    }
    ordered = sorted(known, key=lambda cell: (best[cell.entrant], cell.budget))
    bottom = TOP + ROW * len(ordered) + 8 * len(best)

    def x(share: float) -> float:
        return LEFT + (RIGHT - LEFT) * share

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 16}"><style>{STYLE}</style>',
        f'<rect width="{WIDTH}" height="{bottom + 16}" class="card"/>',
        text(LEFT, 20, "planted faults found", "strong", "start"),
        *(text(x(share), TOP - 6, f"{share:.0%}", "small") for share in (0.0, 0.5, 1.0)),
        *(f'<path d="M{x(share):g},{TOP} V{bottom:g}" class="line"/>' for share in (0.0, 0.5, 1.0)),
    ]
    y, before = float(TOP), ""
    for cell in ordered:
        y += ROW if cell.entrant == before else ROW + 8
        if cell.entrant != before:
            parts.append(text(LEFT - 10, y + 5, cell.entrant, "", "end"))
        parts.append(f'<path d="M{x(cell.low):.1f},{y:g} H{x(cell.high):.1f}" class="chain"/>')
        parts.append(f'<circle cx="{x(cell.found / max(1, cell.of)):.1f}" cy="{y:g}" r="5" class="step"/>')
        words = f"{cell.found} of {cell.of}, {cell.budget:,} renders"
        parts.append(text(RIGHT + 10, y + 5, words, "small", "start"))
        before = cell.entrant
    return "\n".join([*parts, "</svg>"]) + "\n"


def _by_budget(cell: Cell) -> int:
    return cell.budget


def planted() -> str:
    """The chart of the record, for the documents."""
    return chart(cells(rows(ROOT / RECORD)))


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
