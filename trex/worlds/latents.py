"""The forms of a latent, a scene or a vector, and how a line of `draws.jsonl` holds one, for any reader.

A search draws, moves and stores latents without looking inside one: only the world that they come from, and what is
written for its form, does.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol

import numpy as np

from trex.foundation.json_fields import finite, listed
from trex.inference.types import Floats, Renderer, Z, Z_contra
from trex.scenes.scene import Scene, SceneObject, scene_from_dict, scene_to_dict

Latent = Any  # a latent of some world: a Scene or Floats (d,); Any, as only its world looks inside


class OpenRenderer(Renderer[Z_contra], Protocol[Z_contra]):
    """A renderer that holds something."""

    @property
    def key(self) -> str:
        """All that determines the pixels besides the latent."""
        ...

    def close(self) -> None:
        """Free what is held; a later render takes it again."""
        ...


@dataclass(frozen=True)
class Form(Generic[Z]):
    """What the latents of a world are: how the disk holds one under the key `field`, and its objects, if it has any."""

    name: str  # which kernels move it: "scene" or "vector"
    field: str
    to_json: Callable[[Z], object]  # floats keep every bit
    from_json: Callable[[object], Z]  # InputError for anything else
    objects: Callable[[Z], Sequence[SceneObject]]

    def __str__(self) -> str:
        return f"a {self.name}"


def _vector(value: object) -> Floats:
    return np.array([finite(number, "z") for number in listed(value, "z")], dtype=np.float64)


SCENES: Form[Scene] = Form("scene", "scene", scene_to_dict, scene_from_dict, lambda scene: scene.objects)
VECTORS: Form[Floats] = Form("vector", "z", lambda z: z.tolist(), _vector, lambda z: ())


def form_of(z: Latent) -> Form[Latent]:
    """The form of a latent."""
    return SCENES if isinstance(z, Scene) else VECTORS


def identity(z: Latent) -> Hashable:
    """A value that is equal for two latents of one form if all their bits are."""
    return z.tobytes() if isinstance(z, np.ndarray) else z


def to_fields(z: Latent) -> dict[str, object]:
    """The latent's fields in a line: {"scene": {...}} or {"z": [...]}."""
    form = form_of(z)
    return {form.field: form.to_json(z)}


def from_fields(fields: Mapping[str, object]) -> Latent:
    """The latent in a line's fields; InputError or KeyError if they hold none."""
    form: Form[Latent] = VECTORS if VECTORS.field in fields else SCENES
    return form.from_json(fields[form.field])
