"""Writes the page of pairs and the table of a comparison of assets."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader
from numpy.typing import NDArray

from trex.pages.page import TEMPLATES
from trex.parity.asset_comparison import NEEDED_SSIM, AssetComparison

GAIN = 4  # amplifies the displayed difference
RGB = tuple[float, float, float]


def write_page(comparison: AssetComparison, path: Path) -> None:
    """Write the page of pairs: one self-contained HTML file."""
    pairs = []
    for row in comparison.pairs:
        difference = 128.0 + GAIN * (row.ours.pixels.astype(np.float64) - row.published.pixels)
        images = (row.ours.pixels, row.published.pixels, np.clip(difference, 0, 255).astype(np.uint8))
        pairs.append((row, *map(_data_url, images)))
    _write(path, "asset_parity.html", comparison, {"pairs": pairs, "gain": GAIN})


def write_table(comparison: AssetComparison, path: Path) -> None:
    """Write the table: Markdown, numbers only."""
    lowest = min(row.ssim for row in comparison.pairs)
    _write(path, "asset_parity.md", comparison, {"pairs": comparison.pairs, "lowest": lowest})


def _write(path: Path, template: str, comparison: AssetComparison, more: dict[str, object]) -> None:
    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True)
    environment.filters |= {"rgb": _rgb, "rgb_difference": _rgb_difference}
    shared = {"preset": comparison.preset, "seed": comparison.seed, "colors": comparison.colors,
              "mean_ssim": comparison.mean_ssim, "needed": NEEDED_SSIM}  # fmt: skip
    path.write_text(environment.get_template(template).render(shared | more), encoding="utf-8")


def _rgb(color: RGB) -> str:
    return ", ".join(f"{value:.1f}" for value in color)


def _rgb_difference(colors: tuple[RGB, RGB]) -> str:
    return ", ".join(f"{ours - published:+.2f}" for ours, published in zip(*colors, strict=True))


def _data_url(pixels: NDArray[np.uint8]) -> str:
    """A picture (H, W, 3) as a PNG in a data URL."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
