"""Pictures by a function of the user's own: what it may give, and a renderer of scenes made of one."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError, RenderError
from trex.foundation.own_code import array_words, called, code_hash
from trex.render.picture import Picture
from trex.scenes.prior import MAX_OBJECTS as MOST
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene, scene_id


@dataclass(frozen=True)
class SceneDrawing:
    """A function of the user's that draws scenes, under the name that render.preset holds."""

    name: str
    function: Callable[[Scene], object]

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of its pictures, seen from one scene; InputError if it fails there."""
        try:
            height, width, _ = self._probe.pixels.shape
        except RenderError as error:
            raise InputError(str(error)) from error
        return width, height

    @property
    def key(self) -> str:
        """Changes with the function's code, and with its picture of one scene."""
        digest = hashlib.sha256(self._probe.pixels.tobytes()).hexdigest()[:16]
        return f"own {code_hash(self.function)} {digest}"

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        """One picture per scene, in the same order."""
        return [self.picture_of(scene) for scene in zs]

    def close(self) -> None:
        """Nothing is held."""

    @property
    def _probe(self) -> Picture:
        """Its picture of a scene of 3 objects or, if it asks for a later one, of as many as there can be."""
        try:
            return self.picture_of(ScenePrior(n_objects=(3, 3)).sample(np.random.default_rng(0)))
        except RenderError as error:
            if not isinstance(error.__cause__, IndexError):
                raise
        return self.picture_of(ScenePrior(n_objects=(MOST, MOST)).sample(np.random.default_rng(0)))

    def picture_of(self, scene: Scene) -> Picture:
        """What the function draws: pixels, or pixels and a mask; without a mask no object is outlined."""
        with called("render", RenderError):
            found = self.function(scene)
            pixels, mask = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
            drawn, ids = np.asarray(pixels), None if mask is None else np.asarray(mask)
        given = np.rint(checked_pixels(drawn) * 255).astype(np.uint8)
        shown = np.ascontiguousarray(np.broadcast_to(given, (*given.shape[:2], 3)))
        if ids is None:
            ids = np.zeros(shown.shape[:2], np.uint8)
        if ids.shape != shown.shape[:2]:
            raise RenderError(
                f"render gives a mask {ids.shape} for a picture {shown.shape[:2]}; give one of its size"
            )
        if ids.dtype.kind not in "iub" or ids.min() < 0 or ids.max() > len(scene.objects):
            raise RenderError(
                f"render gives a mask of other numbers than 0, background, to {len(scene.objects)}, the last object"
            )
        return Picture(shown.copy(), ids.astype(np.uint8), scene_id(scene))


def checked_pixels(found: NDArray[np.generic]) -> NDArray[np.float32]:
    """(H, W, C), float32 in [0, 1]; RenderError for what is no picture."""
    pixels = found[..., None] if found.ndim == 2 else found
    if (
        not pixels.size
        or pixels.ndim != 3
        or pixels.shape[2] not in (1, 3)
        or pixels.dtype.kind not in "fiub"
    ):
        raise RenderError(
            f"render gives {array_words(found)}; it must give a picture (H, W), (H, W, 1) or (H, W, 3)"
        )
    scaled: NDArray[np.float32] = pixels.astype(np.float32) / np.float32(
        255 if pixels.dtype == np.uint8 else 1
    )
    if not np.isfinite(scaled).all() or scaled.min() < 0 or scaled.max() > 1:
        raise RenderError(
            f"render gives values from {scaled.min():g} to {scaled.max():g}; give floats from 0 to 1, or bytes"
        )
    return scaled
