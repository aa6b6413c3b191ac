"""Scenes of several draws as arrays: object by object, padded to the same number."""

from __future__ import annotations

import math

import numpy as np

from trex.scenes.scene import ATTRIBUTES, Scene
from trex.worlds.latents import scene_of
from trex.worlds.world import Chains, Variable

NUMBERS = ("x", "y", "rotation")


def padded_variables(chains: Chains, most: int) -> dict[str, Variable]:
    """Each number and attribute of each object, (chain, draw, object)."""
    found = {}
    for name in (*NUMBERS, *ATTRIBUTES):
        filler = math.nan if name in NUMBERS else ""
        values = [[_padded(scene_of(draw.z), name, most, filler) for draw in chain] for chain in chains]
        found[name] = Variable(np.array(values), ("object",))
    return found


def _padded(scene: Scene, name: str, most: int, filler: float | str) -> list[float | str]:
    values: list[float | str] = [getattr(item, name) for item in scene.objects]
    return values + [filler] * (most - len(values))
