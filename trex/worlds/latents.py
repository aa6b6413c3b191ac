"""The two forms of a latent, scene and vector, and their encoding in a line of `draws.jsonl`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trex.foundation.json_fields import finite, listed
from trex.inference.types import Floats
from trex.scenes.scene import Scene, scene_from_dict, scene_to_dict

Latent = Scene | Floats  # in memory, during a search
StoredLatent = Scene | tuple[float, ...]  # in a record: hashable, equal if all bits are equal
SCENE, VECTOR = "scene", "z"  # the keys of a latent in a line


def to_stored(z: Latent) -> StoredLatent:
    """The latent in the form that records store."""
    return z if isinstance(z, Scene) else tuple(z.tolist())


def from_stored(z: StoredLatent) -> Latent:
    """A stored latent in the form that a search moves."""
    return z if isinstance(z, Scene) else np.array(z, dtype=np.float64)


def scene_of(z: Latent | StoredLatent) -> Scene:
    """The latent as a scene; only CLEVR's world and its variants have such latents."""
    assert isinstance(z, Scene), f"{z!r} is no scene: its world was not asked for its scenes"
    return z


def vector_of(z: Latent | StoredLatent) -> Floats:
    """The latent as an array (d,); only worlds of vectors have such latents."""
    assert not isinstance(z, Scene), "a scene is no vector"
    return np.asarray(z, dtype=np.float64)


def to_fields(z: StoredLatent) -> dict[str, object]:
    """The latent's fields in a line: {"scene": {...}} or {"z": [...]}; floats keep every bit."""
    return {SCENE: scene_to_dict(z)} if isinstance(z, Scene) else {VECTOR: list(z)}


def from_fields(fields: Mapping[str, object]) -> StoredLatent:
    """The latent in a line's fields; InputError or KeyError if they hold none."""
    if VECTOR not in fields:
        return scene_from_dict(fields[SCENE])
    return tuple(finite(number, VECTOR) for number in listed(fields[VECTOR], VECTOR))
