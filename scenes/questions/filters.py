"""Descriptions of objects ("large red things", "the metal ball"): which match a scene, and which to choose."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np

from trex.scenes.questions.bitsets import Bits, SceneSets, scene_sets
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary

# The order of filters in CLEVR's programs and of words in its sentences.
FILTER_ORDER = ("size", "color", "material", "shape")
Description = tuple[str | None, str | None, str | None, str | None]  # in FILTER_ORDER, None: not mentioned
ANYTHING: Description = (None, None, None, None)
_SUBSETS: tuple[tuple[bool, ...], ...] = tuple(product((False, True), repeat=4))
_ABSENT_TRIES = 8


@dataclass(frozen=True, slots=True)
class Option:
    """A description that matches something: its objects, the attributes it names as bits, and their number."""

    said: Description
    fits: Bits
    names: int
    length: int


@dataclass(frozen=True, slots=True)
class World:
    """A scene prepared for question families: its sets, and every description that matches something."""

    sets: SceneSets
    options: tuple[Option, ...]
    vocabulary: Vocabulary
    _suited: dict[Hashable, list[Option]] = field(default_factory=dict, compare=False, repr=False)

    def suited(self, suits: Callable[..., bool], *about: Hashable) -> list[Option]:
        """The descriptions for which suits(description, *about); kept, as a scene gets many questions."""
        found = self._suited.get((suits, *about))
        if found is None:
            found = [option for option in self.options if suits(option, *about)]
            self._suited[suits, *about] = found
        return found


@lru_cache(maxsize=16)
def world_of(scene: Scene, vocabulary: Vocabulary) -> World:
    """The world of a scene; caches the last few, since a scene gets many questions."""
    sets = scene_sets(scene)
    fits: dict[Description, Bits] = {}
    for index, values in enumerate(sets.values):
        size, color, material, shape = (values[name] for name in FILTER_ORDER)
        for a, b, c, d in _SUBSETS:
            texts = (size if a else None, color if b else None, material if c else None, shape if d else None)
            fits[texts] = fits.get(texts, 0) | 1 << index
    options = tuple(
        Option(output, bits, names(output), 4 - output.count(None)) for output, bits in fits.items()
    )
    return World(sets, options, vocabulary)


def names(texts: Description) -> int:
    """The attributes that a description names, as bits in FILTER_ORDER."""
    return sum(1 << place for place, word in enumerate(texts) if word is not None)


def attribute_bits(*attributes: str) -> int:
    """These attributes as bits in FILTER_ORDER."""
    return sum(1 << FILTER_ORDER.index(attribute) for attribute in attributes)


def pick(rng: np.random.Generator, count: int) -> int:
    """An index below `count`, each equally probable."""
    return int(rng.random() * count)


def pick_option(rng: np.random.Generator, options: list[Option]) -> Option:
    """One of the options: first its number of words, all equally probable, then one of that length.

    The public generator draws from all options with equal probability, and most have two or three words; our users
    ask mostly one-word questions ("How many cubes are there?"). A wordless one ("the thing") is drawn one time in
    twenty, or if there is no other.
    """
    lengths = sorted({option.length for option in options})
    if lengths[0] == 0 and len(lengths) > 1 and pick(rng, 20):
        lengths = lengths[1:]
    elif lengths[0] == 0:
        lengths = [0]
    length = lengths[pick(rng, len(lengths))]
    chosen = [option for option in options if option.length == length]
    return chosen[pick(rng, len(chosen))]


def absent(rng: np.random.Generator, world: World, silent: int) -> Description | None:
    """A description that matches nothing in the scene and names nothing of `silent`; None if none was found."""
    present = {option.said for option in world.options}
    free = [place for place in range(4) if not silent >> place & 1]
    for _ in range(_ABSENT_TRIES):
        length = 1 + pick(rng, len(free))
        chosen = rng.permutation(len(free))[:length]
        words: list[str | None] = [None] * 4
        for place in (free[i] for i in chosen):
            values = world.vocabulary.values(FILTER_ORDER[place])
            words[place] = values[pick(rng, len(values))]
        texts = (words[0], words[1], words[2], words[3])
        if texts not in present:
            return texts
    return None
