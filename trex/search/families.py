"""Families: which hits are variations of one failure.

A chain that has found a scene continues from it and finds its relatives: the same object in the same place among
others. A search that counts eight distinct scenes may therefore have found one failure eight times.

Two hits are relatives if

1. they have the same origin (a chain and the prior draw that it started at are one origin) and are near each other:
scenes that share an object, in look and place; vectors at most 1 apart, or
2. they are alike, whatever their origin: scenes that share half of their objects, vectors at most .5 apart, or
3. both are explained, and an object to blame in one has the same shape, size, color and material as one in the other.

A family is a connected component of relatives (single linkage), so neither the order of the hits nor that of a
scene's objects matters. One object shared by chance joins nothing across origins: two independent scenes of five
objects share one in about one of a hundred pairs, too often among dozens of scenes.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from trex.scenes.distinct import in_common
from trex.scenes.scene import Scene
from trex.worlds.description import Noun
from trex.worlds.latents import Latent, scene_of, vector_of

NEAR, ALIKE = 1.0, 0.5  # distances of vectors, in standard deviations of the prior


@dataclass(frozen=True)
class Member:
    """A hit, the chain or prior draw it comes from, where that chain started, and looks of the objects to blame."""

    z: Latent
    source: Hashable
    origin: Hashable
    blamed: frozenset[Hashable] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Families:
    """For each hit, most confident first: its family, its cluster and its source, all numbered from 1.

    Hits of one cluster have a family or an origin in common, directly or through other hits: statistics count a
    cluster once. `sources` numbers chains and prior draws.
    """

    numbers: tuple[int, ...] = ()
    clusters: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """The number of families."""
        return max(self.numbers, default=0)

    @property
    def cluster_count(self) -> int:
        """The number of independent clusters."""
        return max(self.clusters, default=0)

    @property
    def source_count(self) -> int:
        """The number of chains and prior draws that the hits come from."""
        return max(self.sources, default=0)

    def size(self, number: int) -> int:
        """The number of hits in the family."""
        return self.numbers.count(number)


def family_rule(noun: Noun) -> str:
    """One sentence: when two hits belong to one family."""
    if noun.one != "scene":
        return (
            f"{noun.many.capitalize()} are of one kind if latents of one chain (or the prior draw it began at) lie at "
            f"most {NEAR:g} apart."
        )
    return (
        "Scenes are of one kind if they come from one chain (or the prior draw it began at) and share an object, if "
        "they share half of their objects, or if their objects to blame look the same."
    )


def counted(noun: Noun, n: int, families: Families) -> str:
    """n distinct hits with their families: "9 distinct scenes of about 3 kinds"; those of one are no 9 findings."""
    if n > 1 and families.count == 1:
        return f"{n} variations of one {noun.one}"
    return noun.distinct(n) + (f" of about {families.count} kinds" if n > 1 else "")


def group(members: Sequence[Member]) -> Families:
    """The families of these hits, numbered by the order of their first members."""
    kin = [(i, j) for i, j in _pairs(members) if are_relatives(members[i], members[j])]
    bonds = [(i, j) for i, j in _pairs(members) if members[i].origin == members[j].origin]
    sources: dict[Hashable, int] = {}
    for member in members:
        sources.setdefault(member.source, len(sources) + 1)
    return Families(
        _components(len(members), kin),
        _components(len(members), [*kin, *bonds]),
        tuple(sources[member.source] for member in members),
    )


def are_relatives(one: Member, other: Member) -> bool:
    """Whether two hits are relatives, by the rules of this module."""
    if one.blamed & other.blamed:
        return True
    is_own = one.origin == other.origin
    if not isinstance(one.z, Scene):
        apart = float(np.linalg.norm(vector_of(one.z) - vector_of(other.z)))
        return apart <= (NEAR if is_own else ALIKE)
    first, second = scene_of(one.z), scene_of(other.z)
    most = max(len(first.objects), len(second.objects))
    return in_common(first, second) >= (1 if is_own else max(1, most / 2))


def _pairs(members: Sequence[Member]) -> list[tuple[int, int]]:
    return list(combinations(range(len(members)), 2))


def _components(n: int, edges: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The connected component of each of n nodes, numbered from 1 by their first nodes."""
    roots = list(range(n))

    def root(i: int) -> int:
        while roots[i] != i:
            roots[i] = roots[roots[i]]
            i = roots[i]
        return i

    for i, j in edges:
        low, high = sorted((root(i), root(j)))
        roots[high] = low
    order: Mapping[int, int] = {r: k for k, r in enumerate(dict.fromkeys(map(root, range(n))), start=1)}
    return tuple(order[root(i)] for i in range(n))
