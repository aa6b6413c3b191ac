"""Latents of several draws as arrays: vectors unchanged, scenes object by object, padded to one number of objects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trex.scenes.scene import ATTRIBUTES, Scene
from trex.worlds.description import Chains
from trex.worlds.latents import scene_of, vector_of

Array = NDArray[np.float64] | NDArray[np.str_] | NDArray[np.bool_]
NUMBERS = ("x", "y", "rotation")


class Variable(NamedTuple):
    """A variable of every draw for ArviZ: an array (chains, draws, ...) and the names of its further dimensions."""

    values: Array
    dims: tuple[str, ...] = ()


def latent_variables(chains: Chains, most_objects: int) -> Mapping[str, Variable]:
    """The latents: objects of scenes, padded to one number, or z, (chain, draw, latent)."""
    if isinstance(chains[0][0].z, Scene):
        return padded_variables(chains, most_objects)
    return {"z": Variable(np.array([[vector_of(draw.z) for draw in chain] for chain in chains]), ("latent",))}


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
