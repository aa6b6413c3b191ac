"""A renderer without Blender: flat colors inside the analytic id map, for tests and for trying out a query."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trex.foundation.errors import InputError
from trex.render.checks import check_scenes
from trex.render.picture import Bytes, Picture
from trex.scenes.properties import RGB
from trex.scenes.scene import Nuisances, Scene, SceneObject, scene_id
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import CLEVR, Vocabulary

FAKE_VERSION = 2
GROUND = 120.0  # gray, 0-255
GRAIN = 0.02  # half the range of the brightness that the noise seed sets
SHINE = 1.25  # metal is brighter than rubber, so that the two differ


@dataclass(frozen=True)
class FakeRenderer:
    """Exact masks, each object in its palette color; the brightness depends on the lights and on the noise seed."""

    width: int = 120
    height: int = 80
    vocabulary: Vocabulary = CLEVR

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise InputError(f"a picture of {self.width} x {self.height} pixels is not possible")

    @property
    def key(self) -> str:
        """Identifies everything that determines the pixels besides the scene."""
        cards = hashlib.sha256(repr(self.vocabulary.cards).encode()).hexdigest()[:16]
        return f"fake v{FAKE_VERSION} {self.width}x{self.height} cards={cards}"

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        """One picture per scene, in the same order; InputError as from BlenderRenderer."""
        check_scenes(zs, self.vocabulary)
        return [self.picture_of(scene) for scene in zs]

    def close(self) -> None:
        """Do nothing: it holds no resources."""

    def picture_of(self, scene: Scene) -> Picture:
        """The picture of a scene that was checked."""
        mask = id_map(scene, self.vocabulary, self.width, self.height)
        palette = [np.full(3, GROUND), *(_color(item) for item in scene.objects)]
        colors = np.stack(palette) * brightness(scene.nuisances) * grain(scene.noise)
        pixels: Bytes = np.clip(np.rint(colors), 0, 255).astype(np.uint8)[mask]
        return Picture(pixels, mask, scene_id(scene))


def _color(item: SceneObject) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array(RGB[item.color], dtype=np.float64) * (SHINE if item.material == "metal" else 1.0)


def grain(noise: int) -> float:
    """The factor that a noise seed sets, between .98 and 1.02; 1 for seed 0. Nearby seeds have nothing in common."""
    if noise == 0:
        return 1.0
    share = int.from_bytes(hashlib.sha256(str(noise).encode()).digest()[:4], "big") / 2**32
    return 1.0 + GRAIN * (2.0 * share - 1.0)


def brightness(nuisances: Nuisances) -> float:
    """Between .8 and 1.2; 1 where no light is moved. Higher lights are farther away: darker."""
    height = 0.6 * nuisances.key[2] + 0.25 * nuisances.fill[2] + 0.15 * nuisances.back[2]
    return 1.0 - 0.2 * math.tanh(height)
