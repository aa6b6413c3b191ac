"""Small folders in CLEVR's layout whose answers by the fake model are known, for the tests of baselines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from PIL import Image

from trex.clevr_models.fake import ColorArea
from trex.scenes.clevr_format.scene_json import to_clevr
from trex.scenes.properties import RGB
from trex.scenes.scene import Nuisances, Scene, SceneObject

WIDTH, HEIGHT = 120, 80
FAR = (0, 255, 0)  # as far from red as a color can be
SEED = 20261121

QUERY = """
question = "How many red things are there?"
answer = "2"
[target]
kind = "threshold"
threshold = 0.85
[scene]
objects = 4
revoke = ["red spheres"]
[model]
name = "fake"
[render]
preset = "fake"
"""


def pixels_with(things: float) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """A picture that the fake model counts so many red things in, to half a pixel."""
    area = ColorArea()
    wanted = round(things * area.unit * WIDTH * HEIGHT)
    flat = np.full((HEIGHT * WIDTH, 3), FAR, dtype=np.uint8)
    flat[:wanted] = RGB["red"]
    return flat.reshape(HEIGHT, WIDTH, 3)


def probability(things: float, answer: int) -> float:
    """What the fake model then gives this count: the shares of eleven Gaussians, written out anew."""
    counted = round(things * 0.012 * WIDTH * HEIGHT) / (0.012 * WIDTH * HEIGHT)
    weights = [np.exp(-0.5 * ((counted - k) / 0.25) ** 2) for k in range(11)]
    return float(weights[answer] / sum(weights))


def scene_with(red: int, shape: str = "cube") -> Scene:
    """A scene with so many red things of a shape, and one blue cylinder."""
    reds = [SceneObject(shape, "small", "red", "rubber", -2.5 + k, 0.1 * k, 0.0) for k in range(red)]
    return Scene((*reds, SceneObject("cylinder", "large", "blue", "metal", 0.0, 2.0, 0.0)), Nuisances())


class Folder:
    """A folder in CLEVR's layout that grows picture by picture."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, list[dict[str, object]]] = {}

    def add(self, split: str, things: float, scene: Scene | None = None) -> str:
        """One picture, with its scene if there is one; its name below images/."""
        number = len(list((self.path / "images" / split).glob("*.png")))
        name = f"CLEVR_{split}_{number:06d}.png"
        self.picture(split, name, pixels_with(things))
        if scene is not None:
            self.records.setdefault(split, []).append(to_clevr(scene, name, number, split))
            self.write()
        return f"{split}/{name}"

    def picture(self, split: str, name: str, pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> None:
        folder = self.path / "images" / split
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / name)

    def write(self) -> None:
        (self.path / "scenes").mkdir(exist_ok=True)
        for split, records in self.records.items():
            text = json.dumps({"info": {"split": split}, "scenes": records})
            (self.path / "scenes" / f"CLEVR_{split}_scenes.json").write_text(text)


def write_query(folder: Path, text: str = QUERY, name: str = "query.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path
