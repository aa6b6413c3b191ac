"""`trex render --compare-assets`: the page of pairs and the table of a comparison of assets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trex.foundation.files import make_folder, write_atomic
from trex.pages.page import page
from trex.pages.table import Column, Table
from trex.parity.asset_parity import (
    N_SCENES,
    NEEDED_SSIM,
    PRESET,
    SEED,
    AssetComparison,
    ColorRow,
    PairRow,
    compare_scenes,
)
from trex.render.png_url import png_url
from trex.scenes.prior import ScenePrior

GAIN = 4  # amplifies the displayed difference
SCENES: tuple[Column[tuple[int, PairRow]], ...] = (
    Column("scene", lambda row: str(row[0])),
    Column("objects", lambda row: str(len(row[1].scene.objects)), is_number=True),
    Column("SSIM", lambda row: f"{row[1].ssim:.4f}", is_number=True),
    Column("mean abs diff", lambda row: f"{row[1].mean_abs_diff:.2f}", is_number=True),
    Column("ground", lambda row: f"{row[1].ground_diff:+.2f}", is_number=True),
)
COLORS: tuple[Column[ColorRow], ...] = (
    Column("shape", lambda row: row.shape),
    Column("material", lambda row: row.material),
    Column("objects", lambda row: str(row.n_objects), is_number=True),
    Column("ours (R, G, B)", lambda row: _rgb(row.ours, ".1f")),
    Column("published", lambda row: _rgb(row.published, ".1f")),
    Column(
        "difference",
        lambda row: _rgb(tuple(a - b for a, b in zip(row.ours, row.published, strict=True)), "+.2f"),
    ),
)


def compare(published: Path, out: Path, table: Path | None = None) -> AssetComparison:
    """Render 12 scenes of the prior with our assets and with those in `published`.

    Writes out/index.html (the pairs; do not publish it, it holds pictures made with the published files) and
    out/table.md, and the same table, which holds numbers only, to `table` if given. Raises InputError if
    `published` lacks a file.
    """
    rng = np.random.default_rng(SEED)
    scenes = [ScenePrior().sample(rng) for _ in range(N_SCENES)]
    comparison = compare_scenes(published, scenes, PRESET)
    make_folder(out)
    write_page(comparison, out / "index.html")
    for path in filter(None, (out / "table.md", table)):
        write_table(comparison, path)
    return comparison


def write_page(comparison: AssetComparison, path: Path) -> None:
    """Write the page of pairs: one self-contained HTML file."""
    pairs = []
    for row in comparison.pairs:
        difference = 128.0 + GAIN * (row.ours.pixels.astype(np.float64) - row.published.pixels)
        images = (row.ours.pixels, row.published.pixels, np.clip(difference, 0, 255).astype(np.uint8))
        pairs.append((row, *map(png_url, images)))
    values = {"comparison": comparison, "needed": NEEDED_SSIM, "pairs": pairs, "gain": GAIN}
    write_atomic(path, page("asset_parity.html", values).encode())


def write_table(comparison: AssetComparison, path: Path) -> None:
    """Write the table: Markdown, numbers only."""
    values = {
        "comparison": comparison,
        "needed": NEEDED_SSIM,
        "lowest": min(row.ssim for row in comparison.pairs),
        "scenes": Table("Scenes", SCENES, list(enumerate(comparison.pairs))).markdown(),
        "colors": Table("Colors", COLORS, comparison.colors).markdown(),
    }
    write_atomic(path, page("asset_parity.md", values).encode())


def _rgb(color: Sequence[float], form: str) -> str:
    return ", ".join(format(value, form) for value in color)
