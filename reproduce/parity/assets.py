"""Compares our assets with CLEVR's published ones: the same scenes, the same renderer, pictures side by side."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from reproduce import TEMPLATES
from reproduce.parity.published_assets import convert_published
from trex.foundation.files import make_folder, write_atomic
from trex.pages.page import page
from trex.pages.table import Column, Table
from trex.render.blender.blender_renderer import BlenderRenderer
from trex.render.picture import Picture
from trex.render.png_url import png_url
from trex.render.similarity import mean_ssim
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene

SEED, N_SCENES, PRESET = 12, 12, "reference"
TIMEOUT_S = 1800.0  # per picture; generous, since the machine may be busy
NEEDED_SSIM = 0.95  # required mean


@dataclass(frozen=True)
class PairRow:
    """One scene: SSIM, mean absolute difference, and difference of the ground (ours - published), of 255."""

    scene: Scene
    ours: Picture
    published: Picture
    ssim: float
    mean_abs_diff: float
    ground_diff: float


@dataclass(frozen=True)
class ColorRow:
    """The mean color (RGB, 0-255) of all objects of one shape and material, in our and the published pictures."""

    shape: str
    material: str
    n_objects: int
    ours: tuple[float, float, float]
    published: tuple[float, float, float]


@dataclass(frozen=True)
class AssetComparison:
    """The measurements of the same scenes with both sets of assets."""

    preset: str
    seed: int
    pairs: tuple[PairRow, ...]
    colors: tuple[ColorRow, ...]

    @property
    def mean_ssim(self) -> float:
        """The mean over the scenes."""
        return float(np.mean([row.ssim for row in self.pairs]))


def compare_scenes(published: Path, scenes: list[Scene], preset: str) -> AssetComparison:
    """Render the same scenes with both sets of assets, on the CPU (deterministic to the bit)."""
    with tempfile.TemporaryDirectory(prefix="trex-published-") as folder:
        convert_published(published, Path(folder))
        with BlenderRenderer(preset, "cpu", timeout_s=TIMEOUT_S, assets=Path(folder)) as renderer:
            theirs = renderer.render(scenes)
    with BlenderRenderer(preset, "cpu", timeout_s=TIMEOUT_S) as renderer:
        ours = renderer.render(scenes)
    return summarize(scenes, ours, theirs, preset)


def summarize(
    scenes: list[Scene], ours: list[Picture], published: list[Picture], preset: str
) -> AssetComparison:
    """Compare the pictures of the same scenes, given in the same order."""
    pairs = tuple(map(_pair, scenes, ours, published))
    return AssetComparison(preset, SEED, pairs, _colors(pairs))


def _pair(scene: Scene, ours: Picture, published: Picture) -> PairRow:
    difference = ours.pixels.astype(np.float64) - published.pixels
    ground = (ours.mask == 0) & (published.mask == 0)
    ssim = mean_ssim(ours.pixels, published.pixels)
    mean_abs_diff, ground_diff = float(np.abs(difference).mean()), float(difference[ground].mean())
    return PairRow(scene, ours, published, ssim, mean_abs_diff, ground_diff)


def _colors(pairs: tuple[PairRow, ...]) -> tuple[ColorRow, ...]:
    """By shape and material, each object counted once, over the pixels that show it in both pictures."""
    found: dict[tuple[str, str], list[NDArray[np.float64]]] = defaultdict(list)
    for row in pairs:
        for index, item in enumerate(row.scene.objects):
            seen = (row.ours.mask == index + 1) & (row.published.mask == index + 1)
            if seen.any():
                means = [picture.pixels[seen].mean(axis=0) for picture in (row.ours, row.published)]
                found[item.shape, item.material].append(np.stack(means))
    return tuple(_color_row(*key, found[key]) for key in sorted(found))


def _color_row(shape: str, material: str, means: list[NDArray[np.float64]]) -> ColorRow:
    ours, published = np.mean(means, axis=0).tolist()
    return ColorRow(shape, material, len(means), tuple(ours), tuple(published))


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
    write_atomic(path, page(TEMPLATES / "asset_parity.html", values).encode())


def write_table(comparison: AssetComparison, path: Path) -> None:
    """Write the table: Markdown, numbers only."""
    values = {
        "comparison": comparison,
        "needed": NEEDED_SSIM,
        "lowest": min(row.ssim for row in comparison.pairs),
        "scenes": Table("Scenes", SCENES, list(enumerate(comparison.pairs))).markdown(),
        "colors": Table("Colors", COLORS, comparison.colors).markdown(),
    }
    write_atomic(path, page(TEMPLATES / "asset_parity.md", values).encode())


def _rgb(color: Sequence[float], form: str) -> str:
    return ", ".join(format(value, form) for value in color)
