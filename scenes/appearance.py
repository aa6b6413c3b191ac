"""An object as a picture shows it: its kind, how much of it is visible, and what hides the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trex.scenes.scene import ATTRIBUTES, Scene
from trex.scenes.visibility import id_map
from trex.scenes.vocabulary import Vocabulary

FULLY, PARTLY, MOSTLY = "fully visible", "partly hidden", "mostly hidden"
LEAST_FULLY, LEAST_PARTLY = 0.9, 0.5  # visible share; a sliver less than the whole does not count as hidden
SAID = ("size", "color", "material")  # CLEVR's order of adjectives; the shape is the noun


@dataclass(frozen=True)
class Appearance:
    """An object's attributes with their values, how much of it is visible, and size and shape of what hides it."""

    kind: tuple[tuple[str, str], ...]
    seen: str = FULLY
    hider: tuple[str, str] | None = None

    @property
    def words(self) -> str:
        """In words: "a small metal sphere, partly hidden by a large cylinder"; without its shape it is an object."""
        values = dict(self.kind)
        adjectives = [values[name] for name in SAID if name in values]
        thing = _one(" ".join([*adjectives, values.get("shape", "object")]))
        if self.hider is None:
            return f"{thing}, {self.seen}"
        return f"{thing}, {self.seen} by {_one(' '.join(self.hider))}"


def appearance(
    scene: Scene, index: int, vocabulary: Vocabulary, attributes: Sequence[str] = ATTRIBUTES
) -> Appearance:
    """The object `index` as the analytic id map shows it, by these of its attributes.

    Its visible share is that of the pixels that it would have alone: fully visible from 90 %, mostly hidden below
    50 %. What hides it is the object that covers most of these pixels.
    """
    item = scene.objects[index]
    kind = tuple((name, getattr(item, name)) for name in ATTRIBUTES if name in attributes)
    alone = id_map(replace(scene, objects=(item,)), vocabulary) > 0
    ids, counts = np.unique(id_map(scene, vocabulary)[alone], return_counts=True)
    shown = {int(number) - 1: int(count) for number, count in zip(ids, counts, strict=True)}
    share = shown.pop(index, 0) / max(1, int(alone.sum()))
    if share >= LEAST_FULLY:
        return Appearance(kind)
    seen = PARTLY if share >= LEAST_PARTLY else MOSTLY
    if not shown:
        return Appearance(kind, seen)
    hider = scene.objects[max(shown, key=lambda other: (shown[other], -other))]
    return Appearance(kind, seen, (hider.size, hider.shape))


def _one(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
