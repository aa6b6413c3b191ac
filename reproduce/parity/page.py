"""Writes the page of pairs and the table of a parity check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from reproduce import TEMPLATES
from reproduce.parity.scores import Pair, ParityShare, PresetParity
from trex.datasets.official_scenes import OfficialPicture
from trex.foundation.files import make_folder, write_atomic
from trex.pages.page import page
from trex.pages.table import Column, Table, table_of
from trex.render.png_url import png_url

Pairs = Mapping[str, Sequence[Pair]]  # by preset, one for each picture
COLUMNS: tuple[Column[PresetParity], ...] = (
    Column("model", lambda row: row.model),
    Column("preset", lambda row: row.preset),
    Column("questions", lambda row: row.source),
    Column("n", lambda row: str(row.questions), is_number=True),
    Column("pictures", lambda row: str(row.pictures), is_number=True),
    Column("right, official", lambda row: _percent(row.official), is_number=True),
    Column("right, ours", lambda row: _percent(row.rendered), is_number=True),
    Column("difference, points", lambda row: _points(row.difference), is_number=True),
    Column("equal answers", lambda row: _percent(row.equal), is_number=True),
)


def write_table(
    path: Path,
    pictures: Sequence[OfficialPicture],
    pairs: Pairs,
    rows: Sequence[PresetParity],
    notes: Sequence[str],
) -> None:
    """Write the table: Markdown, numbers only."""
    spreads = [
        (name, *_spread([pair.ssim for pair in some], ".3f"), *_spread([pair.error for pair in some], ".2f"))
        for name, some in pairs.items()
    ]
    heads = ("preset", "SSIM, mean", "lowest", "highest", "pixel error, mean", "lowest", "highest")
    values = {
        "pictures": len(pictures),
        "error_px": max(picture.fit.error_px for picture in pictures),
        "alike": table_of("Pictures", heads, spreads).markdown(),
        "answers": Table("Answers", COLUMNS, rows).markdown(),
        "notes": notes,
    }
    _write(path, page(TEMPLATES / "parity.md", values))


def _spread(values: Sequence[float], form: str) -> list[str]:
    """Mean, minimum, maximum."""
    return [format(value, form) for value in (float(np.mean(values)), min(values), max(values))]


def write_page(
    path: Path,
    pictures: Sequence[OfficialPicture],
    pairs: Pairs,
    rows: Sequence[PresetParity],
    notes: Sequence[str],
) -> None:
    """Write the page of pairs: one self-contained HTML file, which holds the official pictures."""
    shown = []
    for at, picture in enumerate(pictures):
        ours = [
            (f"{name}, SSIM {some[at].ssim:.3f}", png_url(some[at].pixels)) for name, some in pairs.items()
        ]
        shown.append((picture.name, [("official", png_url(picture.pixels)), *ours]))
    table = Table("Answers on both (95%)", COLUMNS, rows)
    _write(path, page(TEMPLATES / "parity.html", {"pictures": shown, "table": table, "notes": notes}))


def _write(path: Path, text: str) -> None:
    make_folder(path.parent)
    write_atomic(path, text.encode())


def _percent(share: ParityShare) -> str:
    return f"{100 * share.value:.1f}% ({100 * share.low:.1f} to {100 * share.high:.1f})"


def _points(share: ParityShare) -> str:
    return f"{100 * share.value:+.1f} ({100 * share.low:+.1f} to {100 * share.high:+.1f})"
