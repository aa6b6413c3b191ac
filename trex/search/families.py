"""Families: which hits are variations of one failure, and how often each occurs in the prior.

A chain that has found a scene continues from it and finds its relatives: the same object in the same place among
others. A search that counts eight distinct scenes may therefore have found one failure eight times.

Two explained hits are relatives if the objects to blame appear the same in both: the attributes that decide in either,
how much of each object is visible, and what hides it (`trex.scenes.appearance`). Other hits are relatives if

1. they have the same origin (a chain and the prior draw that it started at are one origin) and are near each other:
scenes that share an object, in look and place; vectors at most 1 apart, or
2. they are alike, whatever their origin: scenes that share half of their objects, vectors at most .5 apart.

A hit without an explanation joins the family of the explained hits that it is related to, directly or through others,
if that is one family alone. All others are joined among themselves (single linkage). Neither the order of the hits nor
that of a scene's objects matters. One object shared by chance joins nothing across origins: two independent scenes of
five objects share one in about one of a hundred pairs, too often among dozens of scenes.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from trex.foundation.words import counted
from trex.scenes.appearance import Appearance
from trex.scenes.distinct import in_common
from trex.scenes.scene import Scene
from trex.search.family import Family
from trex.worlds.description import Noun
from trex.worlds.latents import Latent, scene_of, vector_of

NEAR, ALIKE = 1.0, 0.5  # distances of vectors, in standard deviations of the prior
Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Member:
    """A hit, the chain or prior draw it comes from, where that chain started, and what is to blame, if it is known."""

    z: Latent
    source: Hashable
    origin: Hashable
    blamed: frozenset[Appearance] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Families:
    """For each hit, most confident first: its family, its cluster and its source, all numbered from 1.

    Hits of one cluster have a family or an origin in common, directly or through other hits: statistics count a
    cluster once. `sources` numbers chains and prior draws. `known` describes the families, by number.
    """

    numbers: tuple[int, ...] = ()
    clusters: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    known: tuple[Family, ...] = ()

    @property
    def count(self) -> int:
        """The number of families."""
        return max(self.numbers, default=0)

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
            f"{noun.many.capitalize()} are of one family if latents of one chain (or the prior draw it began at) lie "
            f"at most {NEAR:g} apart."
        )
    return (
        "Explained scenes are of one family if the objects to blame look the same, hidden as much and by the same. "
        "Others are if they come from one chain (or the prior draw it began at) and share an object, or if they share "
        "half of their objects."
    )


def distinct_words(noun: Noun, n: int, families: Families) -> str:
    """n distinct hits with their families: "9 distinct scenes in 3 families"; those of one are no 9 results."""
    if n > 1 and families.count == 1:
        return f"{n} variations of one {noun.one}"
    return noun.distinct(n) + family_count_words(families)


def family_count_words(families: Families) -> str:
    """The number of families, as in " in 2 families"; "" for a single hit.

    "At most" if a hit is alone and unexplained: what is to blame there may be what is to blame elsewhere.
    """
    if len(families.numbers) < 2:
        return ""
    most = "at most " if any(family.is_alone for family in families.known) else ""
    return f" in {most}{counted(families.count, 'family', 'families')}"


def group(members: Sequence[Member]) -> Families:
    """The families of these hits, numbered by the order of their first members."""
    kin = [(i, j) for i, j in _pairs(members) if are_relatives(members[i], members[j])]
    numbers = _numbered(_adopted(members, kin))
    bonds = [
        (i, j)
        for i, j in _pairs(members)
        if numbers[i] == numbers[j] or members[i].origin == members[j].origin
    ]
    return Families(
        numbers,
        _numbered(_components(len(members), bonds)),
        _numbered([member.source for member in members]),
    )


def are_relatives(one: Member, other: Member) -> bool:
    """Whether two hits are relatives: by what is to blame if that is known of both, else by what they share."""
    if one.blamed and other.blamed:
        return _fit(one.blamed, other.blamed) and _fit(other.blamed, one.blamed)
    is_own = one.origin == other.origin
    if not isinstance(one.z, Scene):
        apart = float(np.linalg.norm(vector_of(one.z) - vector_of(other.z)))
        return apart <= (NEAR if is_own else ALIKE)
    first, second = scene_of(one.z), scene_of(other.z)
    most = max(len(first.objects), len(second.objects))
    return in_common(first, second) >= (1 if is_own else max(1, most / 2))


def _fit(some: Collection[Appearance], others: Collection[Appearance]) -> bool:
    return all(any(one.is_like(other) for other in others) for one in some)


def _adopted(members: Sequence[Member], kin: Pairs) -> list[Hashable]:
    """A mark of the family of each hit: explained hits by cause, then those related to one such family alone.

    Marks spread in rounds, so that a hit gets that of its nearest explained relatives; if they differ, it gets none.
    """
    is_known = [bool(member.blamed) for member in members]
    told = _components(len(members), [(i, j) for i, j in kin if is_known[i] and is_known[j]])
    marks = {i: told[i] for i in range(len(members)) if is_known[i]}
    torn: set[int] = set()
    while True:
        near: dict[int, set[int]] = {}
        for i, j in (*kin, *((j, i) for i, j in kin)):
            if i in marks and j not in marks and j not in torn:
                near.setdefault(j, set()).add(marks[i])
        if not near:
            break
        torn |= {j for j, found in near.items() if len(found) > 1}
        marks |= {j: min(found) for j, found in near.items() if len(found) == 1}
    rest = _components(len(members), [(i, j) for i, j in kin if i not in marks and j not in marks])
    return [("known", marks[i]) if i in marks else ("rest", rest[i]) for i in range(len(members))]


def _pairs(members: Sequence[Member]) -> list[tuple[int, int]]:
    return list(combinations(range(len(members)), 2))


def _components(n: int, edges: Pairs) -> list[int]:
    """The first node of the connected component of each of n nodes."""
    roots = list(range(n))

    def root(i: int) -> int:
        while roots[i] != i:
            roots[i] = roots[roots[i]]
            i = roots[i]
        return i

    for i, j in edges:
        low, high = sorted((root(i), root(j)))
        roots[high] = low
    return [root(i) for i in range(n)]


def _numbered(marks: Sequence[Hashable]) -> tuple[int, ...]:
    """The marks as numbers from 1, in the order of their first use."""
    order: Mapping[Hashable, int] = {mark: k for k, mark in enumerate(dict.fromkeys(marks), start=1)}
    return tuple(order[mark] for mark in marks)
