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

Latent = Scene | Floats  # in memory, during a search
StoredLatent = Scene | tuple[float, ...]  # in a record: hashable, equal if all bits are equal
SCENE, VECTOR = "scene", "z"  # the keys of a latent in a line


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
    """The latent's fields in a line: {"scene": {...}} or {"z": [...]}; floats keep every bit."""
    return {SCENE: scene_to_dict(z)} if isinstance(z, Scene) else {VECTOR: list(z)}


def from_fields(fields: Mapping[str, object]) -> StoredLatent:
    """The latent in a line's fields; InputError or KeyError if they hold none."""
    if VECTOR not in fields:
        return scene_from_dict(fields[SCENE])
    return tuple(finite(number, VECTOR) for number in listed(fields[VECTOR], VECTOR))
