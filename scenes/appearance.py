"""An object as a picture shows it: its kind, how much of it is visible, and what hides the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from trex.scenes.scene import ATTRIBUTES, Scene
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import Category, Vocabulary

FULLY, PARTLY, MOSTLY = "in full view", "partly hidden", "mostly hidden"
MIN_FULLY, MIN_PARTLY = 0.9, 0.5  # visible share; a sliver less than the whole does not count as hidden
SAID = ("size", "color", "material")  # CLEVR's order of adjectives; the shape is the noun


@dataclass(frozen=True)
class Appearance:
    """An object's shape, size, color and material; how much of it is visible; size and shape of what hides it.

    `deciding` are the attributes that count: two objects may differ in the others.
    """

    category: Category
    deciding: tuple[str, ...] = ATTRIBUTES
    seen: str = FULLY
    hider: tuple[str, str] | None = None

    @property
    def words(self) -> str:
        """In words: "a small metal sphere partly hidden by a large cylinder"; without its shape it is an object."""
        values = {name: value for name, value in self._values.items() if name in self.deciding}
        adjectives = [values[name] for name in SAID if name in values]
        thing = _one(" ".join([*adjectives, values.get("shape", "object")]))
        if self.hider is None:
            return f"{thing} {self.seen}"
        return f"{thing} {self.seen} by {_one(' '.join(self.hider))}"

    def is_like(self, other: Appearance) -> bool:
        """Whether they agree in every attribute that counts in either, in visibility, and in what hides them."""
        return (self.seen, self.hider) == (other.seen, other.hider) and not (
            {*self.deciding, *other.deciding} - self._agreed(other)
        )

    def shared(self, others: Sequence[Appearance]) -> Appearance:
        """This object by the attributes that count in any of them and have one value in all."""
        agreed = set(ATTRIBUTES).intersection(*(self._agreed(other) for other in others))
        counts = {*self.deciding, *(name for other in others for name in other.deciding)}
        return replace(self, deciding=tuple(name for name in ATTRIBUTES if name in agreed & counts))

    @property
    def _values(self) -> dict[str, str]:
        return dict(zip(ATTRIBUTES, self.category, strict=True))

    def _agreed(self, other: Appearance) -> set[str]:
        return {name for name, value in self._values.items() if other._values[name] == value}


def appearance(
    scene: Scene, index: int, vocabulary: Vocabulary, deciding: tuple[str, ...] = ATTRIBUTES
) -> Appearance:
    """The object `index` as the analytic id map shows it.

    Its visible share is that of the pixels that it would have alone: in full view from 90 %, mostly hidden below
    50 %. What hides it is the object that covers most of these pixels.
    """
    item = scene.objects[index]
    share, hider = hidden(scene, index, vocabulary, id_map(scene, vocabulary))
    if share >= MIN_FULLY:
        return Appearance(item.category, deciding)
    seen = PARTLY if share >= MIN_PARTLY else MOSTLY
    if hider is None:
        return Appearance(item.category, deciding, seen)
    other = scene.objects[hider]
    return Appearance(item.category, deciding, seen, (other.size, other.shape))


def hidden(
    scene: Scene, index: int, vocabulary: Vocabulary, whole: NDArray[np.uint8]
) -> tuple[float, int | None]:
    """The visible share of the pixels that an object would have alone, and the object that covers most of the rest.

    `whole` is the scene's id map.
    """
    alone = id_map(replace(scene, objects=(scene.objects[index],)), vocabulary) > 0
    ids, counts = np.unique(whole[alone], return_counts=True)
    shown = {int(number) - 1: int(count) for number, count in zip(ids, counts, strict=True)}
    share = shown.pop(index, 0) / max(1, int(alone.sum()))
    return share, max(shown, key=lambda other: (shown[other], -other)) if shown else None


def _one(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
