"""Pictures of the analytic look, and the fit of its weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from trex.render.analytic.kernel import TERMS, Floats, Ids, finish, gather, shade
from trex.render.analytic.stage import stage_of
from trex.render.checks import check_scenes
from trex.render.picture import Bytes, Picture
from trex.scenes.scene import Scene, scene_id
from trex.scenes.vocabulary import CLEVR, Vocabulary

VERSION = 1  # of the pictures: raise it with any change of the code or the weights that changes one
WEIGHTS = "weights.json"  # by `python -m benchmarks.analytic fit`
STEP = 60  # columns of the grid on which bare ground is shaded
SIDE = 0.14  # weight of each neighbor in the pixel filter's blur, by least error of ten
LEVELS = 8192  # of linear light in the table of sRGB bytes


class AnalyticRenderer:
    """Renders scenes without Blender: about 13 CPU milliseconds for 240×160 pixels.

    A pure function of the scene without its noise seed, so a leader that uses it cannot see render noise. Pictures are
    close to those of preset `fast` (mean error 1.3 of 255), with exact masks.

    >>> picture = AnalyticRenderer(240, 160).render([scene])[0]
    """

    def __init__(
        self,
        width: int,
        height: int,
        vocabulary: Vocabulary = CLEVR,
        *,
        threads: int = 1,
        weights: Floats | None = None,
    ) -> None:
        """`weights` (3, 22) are those of `fit`; by default the shipped ones."""
        self.width, self.height = width, height
        self._vocabulary, self._threads = vocabulary, threads
        self._weights = shipped_weights() if weights is None else weights

    @property
    def key(self) -> str:
        """Identifies everything that determines the pixels besides the scene."""
        cards = hashlib.sha256(repr(self._vocabulary.cards).encode()).hexdigest()[:16]
        weights = hashlib.sha256(self._weights.tobytes()).hexdigest()[:16]
        return f"analytic v{VERSION} {self.width}x{self.height} weights={weights} cards={cards}"

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        """One picture per scene, in the same order; InputError as from BlenderRenderer."""
        check_scenes(zs, self._vocabulary)
        if self._threads == 1 or len(zs) < 2:
            return [self._picture(scene) for scene in zs]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._picture, zs))

    def close(self) -> None:
        """Do nothing: it holds no resources."""

    def _picture(self, scene: Scene) -> Picture:
        stage = stage_of(scene, self._vocabulary, self.width, self.height)
        light = np.empty((self.height, self.width, 3))
        shade(*stage, self._weights, max(1, self.width // STEP), light)
        pixels = np.empty(light.shape, np.uint8)
        finish(light, SIDE, _curve(), pixels)
        return Picture(pixels, stage.ids, scene_id(scene))


def fit(examples: Iterable[tuple[Scene, Bytes]], vocabulary: Vocabulary, stride: int = 7) -> Floats:
    """The weights (3, 22) with the least squared error on rendered pictures (h, w, 3), of every stride-th pixel."""
    squares, products = np.zeros((3, 22, 22)), np.zeros((3, 22))
    for scene, pixels in examples:
        height, width = pixels.shape[:2]
        stage = stage_of(scene, vocabulary, width, height)
        gather(*stage, linear(pixels), stride, squares, products)
    weights = np.zeros((3, 22))
    for kind, n in enumerate(TERMS):
        square = squares[kind, :n, :n]
        ridge = np.diag(1e-7 * np.diag(square) + 1e-12)
        weights[kind, :n] = np.linalg.solve(square + ridge, products[kind, :n])
    return weights


@cache
def shipped_weights() -> Floats:
    """The weights (3, 22) that come with the package, of ground, rubber and metal."""
    text = resources.files("trex.render.analytic").joinpath(WEIGHTS).read_text(encoding="utf-8")
    return np.array(json.loads(text)["weights"], dtype=np.float64)


def write_weights(weights: Floats, path: Path, note: str) -> None:
    """Write weights as the shipped file is: to six digits, and where they come from."""
    rows = [[float(f"{value:.6g}") for value in row] for row in weights.tolist()]
    path.write_text(json.dumps({"fitted_on": note, "weights": rows}, indent=1) + "\n", encoding="utf-8")


def linear(pixels: Bytes) -> Floats:
    """sRGB bytes as linear light from 0 to 1 (IEC 61966-2-1)."""
    x = pixels / 255.0
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)


@cache
def _curve() -> Ids:
    """The sRGB byte of each level of linear light."""
    y = np.arange(LEVELS) / (LEVELS - 1)
    curve = np.where(y <= 0.0031308, 12.92 * y, 1.055 * y ** (1 / 2.4) - 0.055) * 255.0 + 0.5
    return curve.astype(np.uint8)
