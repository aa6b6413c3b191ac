"""The tables of all entrants in a page, and the chart of the first: python -m benchmarks.planted.page.

A table stands between `<!-- planted -->` or `<!-- hidden -->`, as its targets are, and `<!-- end -->`;
`benchmarks.documents.pictures planted` draws the chart.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.documents.figures import STYLE, text
from benchmarks.documents.tools import ROOT
from benchmarks.planted.run import Cell, cells, rows, table
from trex.foundation.files import write_atomic

RECORD = Path("reproduce/measured/planted.jsonl")  # of the public targets
RECORDS = {"planted": RECORD, "hidden": Path("reproduce/measured/planted_hidden.jsonl")}
PAGE = Path("docs/reference/planted.md")
WIDTH, LEFT, RIGHT, TOP, ROW = 740, 130, 560, 44, 16


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


def written(text: str, tables: Mapping[str, Path]) -> str:
    """A page with the table of each of these folders of runs, or records, after its mark."""
    for mark, out in tables.items():
        between = rf"(<!-- {mark} -->\n).*?(<!-- end -->)"
        text = re.sub(between, rf"\g<1>{table(out)}\n\g<2>", text, flags=re.DOTALL)
    return text


def main() -> None:
    """Write the tables into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--out", type=Path, help="folder of runs, or a record of them, in place of both records"
    )
    parser.add_argument("--page", type=Path, default=PAGE)
    chosen = parser.parse_args()
    tables = {"planted": chosen.out} if chosen.out else RECORDS
    write_atomic(chosen.page, written(chosen.page.read_text(), tables).encode())


if __name__ == "__main__":
    main()
