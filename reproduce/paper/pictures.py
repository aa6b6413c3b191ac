"""The pictures of the page: each experiment's contact sheet, linked from its row and shown below the table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from reproduce.paper.agreement import Compared
from trex.foundation.words import capitalized

HEAD = "\n## Pictures\n\nAll are generated here; no picture of a data set is among them.\n"
LEFT_OUT = (
    " Pictures of the test set belong to others and are left out; the experiment's own page shows them."
)


def links(row: Compared, place: Path) -> str:
    """The documents and pictures of a row, for the page in this place."""
    found = [f"[{Path(row.item.page).name}]({row.item.page})"] if row.item.page else []
    if row.sheet:
        left_out = ", without those of the test set" if row.has_test_set else ""
        found.append(f"[pictures]({_relative(row.sheet, place)}){left_out}")
    return " · ".join(found) or "–"


def pictures(rows: Sequence[Compared], place: Path) -> str:
    """Every contact sheet once, under the first item that rests on it; "" if there is none."""
    first: dict[str, Compared] = {}
    for row in rows:
        if row.sheet:
            first.setdefault(row.sheet, row)
    return "".join([HEAD, *(_section(row, place) for row in first.values())]) if first else ""


def _section(row: Compared, place: Path) -> str:
    what = row.item.what
    words = f"{capitalized(what)}.{LEFT_OUT if row.has_test_set else ''}"
    return f"\n### {row.item.item}\n\n{words}\n\n![{what}]({_relative(row.sheet, place)})\n"


def _relative(path: str, place: Path) -> str:
    """The link from the page in this place to a file."""
    return quote(Path(os.path.relpath(path, place.parent)).as_posix())
