"""The real CLEVR files that some tests compare with: not part of the project, found through TREX_DATA."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from trex.scenes.clevr_format.scene_json import read_scenes
from trex.scenes.scene import Scene

SCENES = (
    "CLEVR_v1.0/scenes/CLEVR_train_scenes.json",
    "CLEVR_v1.0/scenes/CLEVR_val_scenes.json",
    "CLEVR_generated/scenes/CLEVR_new_scenes.json",
)
OFFICIAL = SCENES[:2]


def data_file(name: str) -> Path:
    """A file below TREX_DATA; the test is skipped where there is none."""
    folder = os.environ.get("TREX_DATA")
    if not folder:
        pytest.skip("TREX_DATA names no folder with CLEVR_v1.0 and CLEVR_generated")
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return path


def scenes_by_picture(names: tuple[str, ...] = SCENES) -> dict[str, Scene]:
    """Every scene of these files under the name of its picture."""
    return {record.image_filename: record.scene for name in names for record in read_scenes(data_file(name))}


def raw(name: str, key: str) -> list[dict[str, object]]:
    """The records under `key` of a JSON file as they stand there."""
    with data_file(name).open(encoding="utf-8") as stream:
        items = json.load(stream)[key]
    assert isinstance(items, list)
    return items
