"""The families of a search: which hits are variations of one failure, and how often each occurs in the prior.

A chain that has found a scene continues from it and finds its relatives: the same object in the same place among
others. A search that counts eight distinct scenes may therefore have found one failure eight times.

Two explained hits are relatives if the pattern of the objects responsible in each fits those of the other: the
attributes that decide, how much of each object is visible, and what hides it (`trex.scenes.conditions.looks`). Other
hits are relatives if

1. they have the same origin (a chain and the prior draw that it started at are one origin) and are near each other:
scenes that share an object, in look and place; vectors at most 1 apart, or
2. they are alike, whatever their origin: scenes that share half of their objects, vectors at most .5 apart.

A hit without an explanation joins the family of the explained hits that it is related to, directly or through others,
if that is one family alone. All others are joined among themselves (single linkage). Neither the order of the hits nor
that of a scene's objects matters. One object shared by chance joins nothing across origins: two independent scenes of
five objects share one in about one of a hundred pairs, too often among dozens of scenes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.foundation.words import counted
from trex.inference.statistics.how_often import rate_of
from trex.inference.statistics.proportion import Proportion
from trex.inference.statistics.two_phase import Selection
from trex.scenes.conditions import Condition, has, looks
from trex.scenes.distinct import in_common
from trex.scenes.scene import ATTRIBUTES, Scene
from trex.worlds.description import Noun
from trex.worlds.latents import SCENES, VECTORS, Latent, form_of, identity

if TYPE_CHECKING:
    import networkx as nx

NEAR, ALIKE = 1.0, 0.5  # distances of vectors, in standard deviations of the prior
NAMED = 2  # objects in the pattern of a family without an explanation
Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Responsible:
    """An object responsible for a hit: all conditions that describe how it looks, and those of them that count."""

    looks: frozenset[Condition]
    counts: frozenset[Condition]

    def is_like(self, other: Responsible) -> bool:
        """Whether all that counts in either holds for both."""
        return self.counts <= other.looks and other.counts <= self.looks


def responsible(graph: nx.DiGraph, index: int, deciding: Collection[str] = ATTRIBUTES) -> Responsible:
    """An object of a scene's graph, of which these attributes count, and how much of it is hidden by what."""
    known = looks(graph, index)
    return Responsible(
        frozenset(known),
        frozenset(
            condition
            for condition in known
            if condition.part == "seen" or condition.key.split()[0] in deciding
        ),
    )


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


def family_rule(noun: Noun) -> str:
    """One sentence: when two hits belong to one family."""
    if noun.one != "scene":
        return (
            f"{noun.many.capitalize()} are of one family if latents of one chain (or the prior draw it began at) lie "
            f"at most {NEAR:g} apart."
        )
    return (
        "Explained scenes are of one family if the objects responsible look the same, hidden as much and by the same. "
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

    "At most" if a hit is alone and unexplained: the object responsible there may be the one responsible elsewhere.
    """
    if len(families.numbers) < 2:
        return ""
    most = "at most " if any(family.is_alone for family in families.known) else ""
    return f" in {most}{counted(families.count, 'family', 'families')}"


def group(
    zs: Sequence[Latent],
    sources: Sequence[Hashable],
    origins: Sequence[Hashable],
    causes: Sequence[frozenset[Responsible]],
    noun: Noun,
) -> Families:
    """The families of hits, numbered by the order of their first members.

    Of each hit: its latent, the chain or prior draw that it comes from, where that chain started, and the objects
    responsible, none if they are not known.
    """
    pairs = list(combinations(range(len(zs)), 2))
    kin = [(i, j) for i, j in pairs if _are_kin(zs[i], zs[j], origins[i] == origins[j], causes[i], causes[j])]
    numbers = _numbered(_adopted([bool(cause) for cause in causes], kin))
    bonds = [(i, j) for i, j in pairs if numbers[i] == numbers[j] or origins[i] == origins[j]]
    places: dict[int, list[int]] = {}
    for place, number in enumerate(numbers):
        places.setdefault(number, []).append(place)
    return Families(
        numbers,
        _numbered(_components(len(zs), bonds)),
        _numbered(sources),
        tuple(_family(number, places[number], zs, causes, noun) for number in sorted(places)),
    )


def with_rates(
    families: Families,
    found: Sequence[Latent],
    draws: Sequence[tuple[Latent, bool]],
    sample: tuple[Selection, float],
    are_distinct: Callable[[Latent, Latent], bool],
) -> Families:
    """The families with how often a prior scene belongs to each; none if no counted one does.

    `draws` are the prior scenes of the sample's selection, each with whether it is a hit that lasts; `sample` is that
    selection and the level of the intervals. A hit among them belongs to the family of the found scene that it is, or
    else is not distinct from. Each counts for all prior scenes that it stands for (`two_phase.estimate` of the
    indicator). An interval holds for a family by itself; there is no correction for their number, nor for having seen
    the family first.
    """
    place = {identity(z): k for k, z in enumerate(found)}
    homes = np.full(len(draws), -1)
    for row, (z, is_hit) in enumerate(draws):
        if is_hit:
            alike = (k for k, other in enumerate(found) if not are_distinct(z, other))
            stored = identity(z)
            homes[row] = place[stored] if stored in place else next(alike, -1)

    def rate(family: Family) -> Proportion | None:
        is_member = np.isin(homes, family.members).astype(float)
        known = rate_of(is_member, *sample)
        return known if known.count else None

    return replace(families, known=tuple(replace(family, rate=rate(family)) for family in families.known))


def _are_kin(
    item: Latent,
    other: Latent,
    is_own: bool,
    cause: frozenset[Responsible],
    other_cause: frozenset[Responsible],
) -> bool:
    """Whether two hits are relatives: by the objects responsible if known in both, else by what they share."""
    if cause and other_cause:
        return _fit(cause, other_cause) and _fit(other_cause, cause)
    if form_of(item) is VECTORS:
        apart = float(np.linalg.norm(item - other))
        return apart <= (NEAR if is_own else ALIKE)
    most = max(len(item.objects), len(other.objects))
    return in_common(item, other) >= (1 if is_own else max(1, most / 2))


def _fit(some: Collection[Responsible], others: Collection[Responsible]) -> bool:
    return all(any(responsible.is_like(other) for other in others) for responsible in some)


def _family(
    number: int,
    places: Sequence[int],
    zs: Sequence[Latent],
    causes: Sequence[frozenset[Responsible]],
    noun: Noun,
) -> Family:
    """The family of the hits at these places, most confident first, with the pattern that all of them fit."""
    first, *others = [causes[place] for place in places if causes[place]] or [frozenset[Responsible]()]
    if first:
        objects = sorted(
            (_in_common(responsible, others) for responsible in first),
            key=lambda chosen: [condition.key for condition in chosen],
        )
    else:
        objects = _shared_objects([zs[place] for place in places if form_of(zs[place]) is SCENES])
    return Family(
        Pattern(tuple(objects)), number=number, members=tuple(places), is_explained=bool(first), noun=noun
    )


def _in_common(responsible: Responsible, others: Iterable[frozenset[Responsible]]) -> tuple[Condition, ...]:
    """What counts in the object or the most similar one of each of the other hits, and holds for all of them."""
    alike = [max(each, key=lambda other: _likeness(responsible, other)) for each in others]
    counts = responsible.counts.union(*(other.counts for other in alike))
    seen = {each for each in responsible.counts if each.part == "seen"}
    shared = responsible.looks.intersection(counts, *(other.looks for other in alike)) | seen
    return tuple(sorted(shared, key=lambda each: each.key))


def _likeness(responsible: Responsible, other: Responsible) -> tuple[bool, bool, int, list[str]]:
    agreed = responsible.looks & other.looks
    is_seen_alike = any(each.part == "seen" for each in agreed)
    return responsible.is_like(other), is_seen_alike, len(agreed), sorted(each.key for each in other.looks)


def _shared_objects(scenes: Sequence[Scene]) -> list[tuple[Condition, ...]]:
    """The kinds of object that all scenes hold, at most two; if there is none, the one that most of them hold."""
    if not scenes:
        return []
    kinds = [Counter(item.category for item in scene.objects) for scene in scenes]
    everywhere = sorted(kind for kind in kinds[0] if all(kind in item for item in kinds))[:NAMED]
    times = Counter(kind for item in kinds for kind in item)
    picked = everywhere or [max(times, key=lambda kind: (times[kind], kind))]
    return [tuple(map(has, ATTRIBUTES, kind)) for kind in picked]


def _adopted(is_known: Sequence[bool], kin: Pairs) -> list[Hashable]:
    """A mark of the family of each hit: explained hits by cause, then those related to one such family alone.

    Marks spread in rounds, so that a hit gets that of its nearest explained relatives; if they differ, it gets none.
    """
    n = len(is_known)
    causes = _components(n, [(i, j) for i, j in kin if is_known[i] and is_known[j]])
    marks = {i: causes[i] for i in range(n) if is_known[i]}
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
    others = _components(n, [(i, j) for i, j in kin if i not in marks and j not in marks])
    return [("explained", marks[i]) if i in marks else ("others", others[i]) for i in range(n)]


def _components(n: int, edges: Pairs) -> list[int]:
    """The first node of the connected component of each of n nodes."""
    import networkx

    graph = networkx.Graph(edges)
    graph.add_nodes_from(range(n))
    first = {i: min(component) for component in networkx.connected_components(graph) for i in component}
    return [first[i] for i in range(n)]


def _numbered(marks: Sequence[Hashable]) -> tuple[int, ...]:
    """The marks as numbers from 1, in the order of their first use."""
    order: Mapping[Hashable, int] = {mark: k for k, mark in enumerate(dict.fromkeys(marks), start=1)}
    return tuple(order[mark] for mark in marks)
