"""The two forms of a latent, a scene or a vector, and how a line of `draws.jsonl` holds either, for any reader.

A world knows the form of its own latents, the search does not. The functions `any_prior` and so on pass parts of a
world across that boundary, and nothing else does: a part made for one form meets no latent of the other, because all
parts of a plan come from one world.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

import numpy as np

from trex.foundation.json_fields import finite, listed
from trex.inference.types import Floats, Prior, Proposal, Renderer, Z_contra
from trex.render.renderer import SceneRenderer
from trex.scenes.scene import Scene, scene_from_dict, scene_to_dict

Latent = Scene | Floats  # as a search moves it
StoredLatent = Scene | tuple[float, ...]  # as a record keeps it: hashable, equal where every bit is
SCENE, VECTOR = "scene", "z"  # the keys on a line


class OpenRenderer(Renderer[Z_contra], Protocol[Z_contra]):
    """A renderer that holds something."""

    @property
    def key(self) -> str:
        """All that determines the pixels besides the latent."""
        ...

    def close(self) -> None:
        """Free what is held; a later render takes it again."""
        ...


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


def any_prior(prior: Prior[Scene] | Prior[Floats]) -> Prior[Latent]:
    """A world's prior as the search takes it."""
    return cast(Prior[Latent], prior)


def any_proposal(proposal: Proposal[Scene] | Proposal[Floats]) -> Proposal[Latent]:
    """A world's proposal as the search takes it."""
    return cast(Proposal[Latent], proposal)


def any_renderer(renderer: OpenRenderer[Scene] | OpenRenderer[Floats]) -> OpenRenderer[Latent]:
    """A world's renderer as the search takes it."""
    return cast(OpenRenderer[Latent], renderer)


def scene_renderer(renderer: OpenRenderer[Latent]) -> SceneRenderer:
    """The way back: the renderer of a world of scenes."""
    return cast(SceneRenderer, renderer)


def to_fields(z: StoredLatent) -> dict[str, object]:
    """What a line says of a latent: {"scene": {...}} or {"z": [...]}; floats keep every bit."""
    return {SCENE: scene_to_dict(z)} if isinstance(z, Scene) else {VECTOR: list(z)}


def from_fields(fields: Mapping[str, object]) -> StoredLatent:
    """The latent that a line holds; InputError or KeyError where it holds none."""
    if VECTOR not in fields:
        return scene_from_dict(fields[SCENE])
    return tuple(finite(number, VECTOR) for number in listed(fields[VECTOR], VECTOR))
