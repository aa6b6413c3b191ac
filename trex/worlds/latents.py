"""The two forms of a latent, a scene or a vector, and how a line of `draws.jsonl` holds either, for any reader."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trex.foundation.json_fields import finite, listed
from trex.inference.types import Floats
from trex.scenes.scene import Scene, scene_from_dict, scene_to_dict

Latent = Scene | Floats  # as a search moves it
StoredLatent = Scene | tuple[float, ...]  # as a record keeps it: hashable, equal where every bit is
SCENE, VECTOR = "scene", "z"  # the keys on a line


def to_stored(z: Latent) -> StoredLatent:
    """A latent as a record keeps it."""
    return z if isinstance(z, Scene) else tuple(z.tolist())


def from_stored(z: StoredLatent) -> Latent:
    """A kept latent as a search moves it."""
    return z if isinstance(z, Scene) else np.array(z, dtype=np.float64)


def scene_of(z: Latent | StoredLatent) -> Scene:
    """The scene that a latent of CLEVR's world is."""
    assert isinstance(z, Scene), f"{z!r} is no scene: its world was not asked for its scenes"
    return z


def vector_of(z: Latent | StoredLatent) -> Floats:
    """The numbers (d,) that a latent of any other world is."""
    assert not isinstance(z, Scene), "a scene is no vector"
    return np.asarray(z, dtype=np.float64)


def to_fields(z: StoredLatent) -> dict[str, object]:
    """What a line says of a latent: {"scene": {...}} or {"z": [...]}; floats keep every bit."""
    return {SCENE: scene_to_dict(z)} if isinstance(z, Scene) else {VECTOR: list(z)}


def from_fields(fields: Mapping[str, object]) -> StoredLatent:
    """The latent that a line holds; InputError or KeyError where it holds none."""
    if VECTOR not in fields:
        return scene_from_dict(fields[SCENE])
    return tuple(finite(number, VECTOR) for number in listed(fields[VECTOR], VECTOR))
