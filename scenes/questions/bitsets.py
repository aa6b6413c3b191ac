"""A scene as sets of objects, each set the bits of an integer: the values that programs compute with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trex.scenes.graph import RELATIONS, related
from trex.scenes.scene import ATTRIBUTES, Scene

Bits = int  # bit i is set if object i is in the set


def is_single(bits: Bits) -> bool:
    """Whether a set holds exactly one object."""
    return bits != 0 and bits & (bits - 1) == 0


@dataclass(frozen=True, slots=True)
class SceneSets:
    """Every set that one step of a program can produce from a scene; attributes and relations only."""

    everything: Bits
    values: tuple[dict[str, str], ...]  # values[i][attribute] of object i
    having: dict[str, dict[str, Bits]]  # having[attribute][value]: the objects with that value
    beyond: dict[str, tuple[Bits, ...]]  # beyond[relation][i]: the objects that are e.g. left of object i

    def same(self, attribute: str, index: int) -> Bits:
        """The other objects that share this attribute with object `index`."""
        return self.having[attribute][self.values[index][attribute]] & ~(1 << index)


def scene_sets(scene: Scene) -> SceneSets:
    """The sets of a scene."""
    values = tuple({name: getattr(item, name) for name in ATTRIBUTES} for item in scene.objects)
    having: dict[str, dict[str, Bits]] = {name: {} for name in ATTRIBUTES}
    for index, row in enumerate(values):
        for name, value in row.items():
            having[name][value] = having[name].get(value, 0) | 1 << index
    rows = related(scene)
    beyond = {name: tuple(_bits(row) for row in rows[name]) for name in RELATIONS}
    return SceneSets((1 << len(values)) - 1, values, having, beyond)


def _bits(indices: Iterable[int]) -> Bits:
    return sum(1 << index for index in indices)
