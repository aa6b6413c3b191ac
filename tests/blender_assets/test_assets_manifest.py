"""The manifest names every asset, and a missing or changed one is noticed."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from trex.blender_assets.load import FOLDER, MANIFEST, read_manifest, verify_manifest
from trex.foundation.errors import InputError

BASE_SCENE = FOLDER / "base_scene.blend"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the assets that may be broken."""
    for name in (*read_manifest(), MANIFEST.name):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(FOLDER / name, tmp_path / name)
    return tmp_path


def test_manifest_matches_the_files() -> None:
    verify_manifest()


def test_manifest_names_every_asset_with_licence_and_source() -> None:
    rows = read_manifest()
    lying = {str(path.relative_to(FOLDER)) for path in (BASE_SCENE, *(FOLDER / "shapes").iterdir())}
    assert set(rows) == lying
    for row in rows.values():
        assert set(row) == {"sha256", "made_by", "licence"}
        assert (
            row["licence"] == "Apache-2.0" and row["made_by"] == "python -m trex.blender_assets.make_assets"
        )


def test_changed_asset_is_noticed(copied: Path) -> None:
    verify_manifest(copied)
    with (copied / "shapes/cone.obj").open("a", encoding="ascii") as file:
        file.write("\n")
    with pytest.raises(InputError, match=r"cone\.obj has sha256 .* the manifest says"):
        verify_manifest(copied)


def test_missing_asset_is_noticed(copied: Path) -> None:
    (copied / "base_scene.blend").unlink()
    with pytest.raises(InputError, match=r"base_scene\.blend is missing; .*make_assets"):
        verify_manifest(copied)


@pytest.mark.parametrize("text", ["", "[]", '{"files": 3}', json.dumps({"files": {"a": 1}})])
def test_broken_manifest_is_noticed(text: str, copied: Path) -> None:
    (copied / MANIFEST.name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="manifest"):
        verify_manifest(copied)


def test_missing_manifest_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="missing"):
        verify_manifest(tmp_path)


def test_manifest_cannot_reach_out_of_its_folder(copied: Path) -> None:
    rows = {"../outside": {"sha256": "0"}}
    (copied / MANIFEST.name).write_text(json.dumps({"files": rows}), encoding="utf-8")
    with pytest.raises(InputError, match="outside"):
        verify_manifest(copied)


@pytest.mark.process
def test_base_scene_is_small_and_names_no_folder_of_its_maker() -> None:
    assert BASE_SCENE.stat().st_size < 500_000
    zstd = shutil.which("zstd")
    if zstd is None:
        pytest.skip("needs the zstd command to look inside the compressed .blend")
    inside = subprocess.run([zstd, "-dc", str(BASE_SCENE)], capture_output=True, check=True).stdout
    assert inside.startswith(b"BLENDER")
    for folder in (str(FOLDER.parent), str(Path.home()), "/home/", "/root", "/tmp"):
        if len(folder) > 1:
            assert folder.encode() not in inside, folder
