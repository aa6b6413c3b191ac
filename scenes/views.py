"""Other viewpoints of a scene: the same objects under other cameras and lights from the prior."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trex.scenes.noise import with_seed
from trex.scenes.prior import draw_nuisances
from trex.scenes.scene import Scene
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import Vocabulary

MAX_TRIES = 100  # draws of camera and lights for each valid one


class Views(NamedTuple):
    """A scene under other cameras and lights, and how many of these draws were invalid and therefore skipped."""

    scenes: list[Scene]
    skipped: int


def view_draws(scene: Scene, n: int, vocabulary: Vocabulary) -> tuple[Scene, ...]:
    """The scene itself and n - 1 copies under other cameras, lights and noise seeds, all determined by its own seed.

    An invalid draw of camera and lights is drawn again, 100 times at most; after that the copy has those of the scene,
    and another noise seed alone. So n pictures count in any case.
    """
    return (scene, *(_view(scene, k, vocabulary) for k in range(1, n)))


def _view(scene: Scene, k: int, vocabulary: Vocabulary) -> Scene:
    copy = with_seed(scene, "view", k)
    found = other_views(np.random.default_rng(copy.noise), copy, 1, vocabulary).scenes
    return found[0] if found else copy


def other_views(rng: np.random.Generator, scene: Scene, n: int, vocabulary: Vocabulary) -> Views:
    """The scene under n valid draws of camera and lights; fewer if 100 n of them are invalid.

    A draw is invalid if an object would have fewer visible pixels than the prior allows. The noise seed stays.
    """
    views = Views([], 0)
    while len(views.scenes) < n and views.skipped < MAX_TRIES * n:
        view = replace(scene, nuisances=draw_nuisances(rng))
        if is_valid(view, vocabulary):
            views.scenes.append(view)
        else:
            views = views._replace(skipped=views.skipped + 1)
    return views
