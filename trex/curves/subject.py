"""A misread object in its scene, and what its scene may become."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trex.scenes.conditions import Bools
from trex.scenes.graph import facts_of, gap
from trex.scenes.scene import Scene, SceneObject
from trex.scenes.validity import MIN_PIXELS, pair_clearances
from trex.scenes.visibility import id_map, visible_pixels
from trex.scenes.vocabulary import Vocabulary

BESIDE_PX = 3  # objects at most so far apart, at 480 x 320, touch in the picture


class Subject(NamedTuple):
    """A scene and the index of the object that is misread."""

    scene: Scene
    misread: int

    @property
    def item(self) -> SceneObject:
        return self.scene.objects[self.misread]


class Dosed(NamedTuple):
    """A changed scene, the index of the misread object in it, and what it measures of the dose."""

    scene: Scene
    misread: int
    measured: float


def visible_share(subject: Subject, vocabulary: Vocabulary) -> float:
    """The share of the object's pixels that is visible, of those that it would have alone."""
    (alone,) = visible_pixels(replace(subject.scene, objects=(subject.item,)), vocabulary)
    seen = visible_pixels(subject.scene, vocabulary)[subject.misread]
    return int(seen) / max(1, int(alone))


def neighbor(subject: Subject, vocabulary: Vocabulary) -> int | None:
    """The object that hides most of the misread one; else the one most of whose edge it touches in the picture, else
    the nearest on the ground; None if the object is alone.
    """
    scene, index = subject
    hider = facts_of(scene, vocabulary).hiders[index]
    others = [other for other in range(len(scene.objects)) if other != index]
    if hider is not None or not others:
        return hider
    ids = id_map(scene, vocabulary)
    beside = ids[_grown(ids == index + 1, BESIDE_PX)]
    touching = {other: int(np.sum(beside == other + 1)) for other in others}
    if any(touching.values()):
        return max(touching, key=lambda other: touching[other])
    return min(others, key=lambda other: gap(subject.item, scene.objects[other]))


def is_drawable(scene: Scene, vocabulary: Vocabulary, hidden: int | None = None) -> bool:
    """Whether no footprints overlap, and every object but `hidden` keeps as many visible pixels as the prior wants."""
    upper = np.triu_indices(len(scene.objects), 1)
    if len(scene.objects) > 1 and bool(np.any(pair_clearances(scene)[0][upper] < 0.0)):
        return False
    pixels = visible_pixels(scene, vocabulary)
    return all(n >= MIN_PIXELS for i, n in enumerate(pixels) if i != hidden)


def placed(scene: Scene, index: int, x: float, y: float) -> Scene:
    """The scene with an object elsewhere on the ground."""
    moved = replace(scene.objects[index], x=x, y=y)
    return replace(scene, objects=(*scene.objects[:index], moved, *scene.objects[index + 1 :]))


def _grown(mask: Bools, pixels: int) -> Bools:
    from scipy.ndimage import binary_dilation

    grown: Bools = binary_dilation(mask, iterations=pixels)
    return grown
