"""Scenes for tests, by hypothesis or at random; their geometry need not be valid."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from trex.scenes.scene import TAU, Nuisances, Scene, SceneObject, Vec3
from trex.scenes.vocabulary import CLEVR, Category, Vocabulary


def _between(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, exclude_max=True, allow_nan=False, allow_subnormal=False)


def _vec3(limit: float) -> st.SearchStrategy[Vec3]:
    return st.tuples(*[_between(-limit, limit)] * 3)


def objects(vocabulary: Vocabulary = CLEVR) -> st.SearchStrategy[SceneObject]:
    """Any object of the vocabulary, anywhere on CLEVR's ground."""
    categories = st.sampled_from(vocabulary.combinations())
    parts = st.tuples(categories, _between(-3, 3), _between(-3, 3), _between(0, TAU))
    return parts.map(lambda p: SceneObject(*p[0], *p[1:]))


def scenes(vocabulary: Vocabulary = CLEVR, min_size: int = 0, max_size: int = 10) -> st.SearchStrategy[Scene]:
    """Any scene of up to ten objects, with any nuisances."""
    nuisances = st.builds(Nuisances, _vec3(0.5), _vec3(1), _vec3(1), _vec3(1))
    some = st.lists(objects(vocabulary), min_size=min_size, max_size=max_size).map(tuple)
    return st.builds(Scene, some, nuisances)


def random_scene(rng: np.random.Generator, n: int) -> Scene:
    """n objects anywhere: what families see of a scene needs no valid geometry."""
    picks = rng.integers(len(CLEVR.combinations()), size=n)
    return Scene(tuple(_placed(rng, CLEVR.combinations()[k]) for k in picks), Nuisances())


def _placed(rng: np.random.Generator, category: Category) -> SceneObject:
    x, y = map(float, rng.uniform(-3, 3, size=2))
    return SceneObject(*category, x, y, 0.0)
