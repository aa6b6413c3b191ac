"""Makes every asset of this folder and its manifest: `python -m trex.blender_assets.make_assets`."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from trex.blender_assets.load import FOLDER, MANIFEST, sha256
from trex.blender_assets.make_shapes import shapes, write_obj

LICENCE = "Apache-2.0"
MADE_BY = "python -m trex.blender_assets.make_assets"
NOUNS = {"cube": ["cube", "block"], "sphere": ["sphere", "ball"], "cylinder": ["cylinder"], "cone": ["cone"]}


def make_assets(folder: Path = FOLDER) -> list[Path]:
    """Writes shapes, cards, base scene and manifest; returns the paths written."""
    (folder / "shapes").mkdir(parents=True, exist_ok=True)
    paths = []
    for name, mesh in shapes().items():
        obj, card = folder / "shapes" / f"{name}.obj", folder / "shapes" / f"{name}.toml"
        write_obj(mesh, obj, f"{name}, half extent 1, made by blender_assets/make_shapes.py ({LICENCE})")
        card.write_text(card_text(name), encoding="utf-8")
        paths += [obj, card]
    paths.append(_make_blend(folder))
    _write_manifest(folder, paths)
    return [*paths, folder / MANIFEST.name]


def card_text(name: str) -> str:
    """The card of one of our shapes, as TOML."""
    rows = {
        "name": name,
        "plural": name + "s",
        "nouns": NOUNS[name],
        "outline": name,
        "mesh": f"{name}.obj",
        "licence": LICENCE,
        "made_by": MADE_BY,
    }
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in rows.items())


def _make_blend(folder: Path) -> Path:
    path = folder / "base_scene.blend"
    with tempfile.TemporaryDirectory() as empty:
        os.environ["BLENDER_USER_RESOURCES"] = (
            empty  # read when bpy is imported: no add-ons of the user's home
        )
        from trex.blender_assets.make_base_scene import make_base_scene

        make_base_scene(path)
    return path


def _write_manifest(folder: Path, paths: list[Path]) -> None:
    rows = {
        str(path.relative_to(folder)): {"sha256": sha256(path), "made_by": MADE_BY, "licence": LICENCE}
        for path in sorted(paths)
    }
    text = json.dumps({"files": rows}, indent=2) + "\n"
    (folder / MANIFEST.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    for path in make_assets():
        print(path.relative_to(FOLDER))
