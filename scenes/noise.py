"""Noise draws of a scene: the same scene under other seeds of the renderer's random numbers.

A render has noise. The seed is part of the scene, so a picture can be made again, and a search could climb on the
noise of one seed. The level set of a query therefore belongs to the mean probability over `r` noise draws, which are
a function of the scene's own seed; and a hit counts as found only if it survives fresh draws, which no search sees.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from trex.scenes.scene import NOISE_SEEDS, Scene

SEARCH, FRESH = "search", "fresh"


def noise_draws(scene: Scene, n: int) -> tuple[Scene, ...]:
    """The scene itself and n - 1 copies with seeds derived from its own; leaving out an object keeps the seeds."""
    return (scene, *(with_seed(scene, SEARCH, k) for k in range(1, n)))


def fresh_draws(scene: Scene, n: int, first: int = 0) -> tuple[Scene, ...]:
    """n copies, from the `first` on, with seeds that `noise_draws` never uses for this scene.

    Except by a chance of 2^-31 each. The k-th copy is the same whatever `n` and `first` are.
    """
    return tuple(with_seed(scene, FRESH, k) for k in range(first, first + n))


def seeded_draws(scene: Scene, n: int, seed: int) -> tuple[Scene, ...]:
    """n copies whose seeds follow from the scene's and from `seed`; no search ever chooses a hit by them."""
    return tuple(with_seed(scene, f"seed {seed}", k) for k in range(n))


def with_seed(scene: Scene, purpose: str, k: int) -> Scene:
    """The k-th copy of a scene for a purpose: its noise seed follows from the scene's own."""
    digest = hashlib.sha256(f"{purpose} {scene.noise} {k}".encode()).digest()
    return replace(scene, noise=int.from_bytes(digest[:8], "big") % NOISE_SEEDS)
