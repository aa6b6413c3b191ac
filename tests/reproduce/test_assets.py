"""Our pictures look like those of CLEVR's published assets, and the page of the comparison says so."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from reproduce.parity.assets import (
    NEEDED_SSIM,
    AssetComparison,
    compare_scenes,
    summarize,
    write_page,
    write_table,
)
from reproduce.parity.published_assets import convert_published
from trex.foundation.errors import InputError
from trex.render.picture import Picture
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene, scene_id
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import CLEVR


def test_conversion_names_the_published_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no base_scene\.blend"):
        convert_published(tmp_path, tmp_path / "out")


def test_page_shows_pairs_and_table_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    scenes = [ScenePrior().sample(rng) for _ in range(2)]
    pictures = [flat_picture(scene) for scene in scenes]
    comparison = summarize(scenes, pictures, pictures, "draft")
    assert comparison.mean_ssim == pytest.approx(1.0)
    assert all(row.ours == row.published for row in comparison.colors)
    assert crossed(comparison).mean_ssim < NEEDED_SSIM
    check_page(comparison, tmp_path)


def test_pictures_look_like_those_of_the_published_assets() -> None:
    folder = os.environ.get("TREX_CLEVR_ASSETS")
    if not folder:
        pytest.skip("needs the published assets: set TREX_CLEVR_ASSETS to clevr-dataset-gen's assets")
    rng = np.random.default_rng(0)
    scenes = [ScenePrior().sample(rng) for _ in range(2)]
    comparison = compare_scenes(Path(folder), scenes, "fast")
    assert comparison.mean_ssim > 0.97 > NEEDED_SSIM
    assert max(row.mean_abs_diff for row in comparison.pairs) < 1.5
    assert crossed(comparison).mean_ssim < NEEDED_SSIM  # another scene's picture must not pass


def flat_picture(scene: Scene) -> Picture:
    """A picture that needs no renderer: a shade of gray for each object."""
    mask = id_map(scene, CLEVR, 120, 80)
    return Picture(np.repeat(mask[..., None] * np.uint8(20), 3, axis=2), mask, scene_id(scene))


def crossed(comparison: AssetComparison) -> AssetComparison:
    """Each picture of ours against the other scene's published one."""
    first, second = comparison.pairs
    theirs = [second.published, first.published]
    return summarize([first.scene, second.scene], [first.ours, second.ours], theirs, "fast")


def check_page(comparison: AssetComparison, folder: Path) -> None:
    """The page shows every pair, and the table holds numbers only."""
    write_page(comparison, folder / "index.html")
    write_table(comparison, folder / "table.md")
    page, table = ((folder / name).read_text(encoding="utf-8") for name in ("index.html", "table.md"))
    assert page.count("data:image/png;base64,") == 3 * len(comparison.pairs)
    assert f"{comparison.mean_ssim:.4f}" in page and f"**{comparison.mean_ssim:.4f}**" in table
    assert "data:" not in table and table.count("\n| ") == 2 + len(comparison.pairs) + len(comparison.colors)
