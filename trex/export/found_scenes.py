"""`found_scenes.json`: the hits of a run, in CLEVR's scene format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trex.runs.folder import RunFolder
from trex.scenes.clevr_format.scene_json import SceneRecord, write_scenes
from trex.search.hit import Hit
from trex.worlds.latents import SCENES

FILE = "found_scenes.json"


def write_found_scenes(folder: RunFolder, found: Sequence[Hit]) -> Mapping[str, str]:
    """Write the hits as scene files; return each file's name with its description, nothing without objects."""
    if folder.manifest.world.form is not SCENES:
        return {}
    scenes = [
        SceneRecord(one.record.scene, f"{one.record.picture}.png", index, "found")
        for index, one in enumerate(found)
    ]
    info = {"split": "found", "question": folder.manifest.facts.question}
    write_scenes(folder.path / FILE, scenes, info)
    return {FILE: "as CLEVR scenes"}
