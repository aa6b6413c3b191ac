"""Where hits come from: which of them descend from each other, so that eight variations are not counted as eight.

A chain that has found a scene continues from it and finds its relatives: the same object in the same place among
others. Hits are of one cluster if

1. they have the same origin (a chain and the prior draw that it started at are one origin), or
2. they are alike, whatever their origin: scenes that share half of their objects, vectors at most .5 apart.

Statistics count a cluster once. The order of the hits and that of a scene's objects do not matter.

Vectors have no objects. If their coordinates have no names either (`values`), their families are those of neighbors:
vectors of one origin at most 1 apart, or alike.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.symptom import SOUGHT
from trex.foundation.words import counted
from trex.inference.statistics.how_often import rate_of, rate_of_seen
from trex.inference.statistics.proportion import Proportion
from trex.inference.statistics.two_phase import Selection
from trex.scenes.distinct import sharing_half
from trex.worlds.description import Noun
from trex.worlds.latents import SCENES, VECTORS, Latent, form_of, identity

NEAR, ALIKE = 1.0, 0.5  # distances of vectors, in standard deviations of the prior
NO_FAMILY = 0
Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Families:
    """For each hit, most confident first: its family, its cluster and its source, all numbered from 1.

    A hit whose mistake has not been traced is in no family (NO_FAMILY). `sources` numbers chains and prior draws.
    `known` describes the families, by number.
    """

    numbers: tuple[int, ...] = ()
    clusters: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    known: tuple[Family, ...] = ()

    @property
    def count(self) -> int:
        """The number of families."""
        return len(self.known)

    @property
    def cluster_count(self) -> int:
        """The number of clusters: of findings that are independent of each other."""
        return max(self.clusters, default=0)

    @property
    def source_count(self) -> int:
        """The number of chains and prior draws that the hits come from."""
        return max(self.sources, default=0)

    def of(self, place: int) -> Family | None:
        """The family of the hit at this place, None if it is in none."""
        number = self.numbers[place]
        return None if number == NO_FAMILY else self.known[number - 1]


def distinct_words(noun: Noun, n: int, families: Families) -> str:
    """n distinct hits with how many of them are independent: "9 distinct scenes from 3 independent starts"."""
    if n > 1 and families.cluster_count == 1:
        return f"{n} variations of one {noun.one}"
    starts = families.cluster_count
    return noun.distinct(n) + (f" from {counted(starts, 'independent start')}" if starts < n else "")


def clusters_of(zs: Sequence[Latent], origins: Sequence[Hashable]) -> tuple[int, ...]:
    """The cluster of each hit, numbered from 1; `origins` is the prior draw that each descends from."""
    first: dict[Hashable, int] = {}
    related = [(first.setdefault(origin, k), k) for k, origin in enumerate(origins)]
    alike = sharing_half(zs) if zs and form_of(zs[0]) is SCENES else _neighbors(zs, origins)
    return _numbered(_components(len(zs), [*related, *alike]))


def group(
    zs: Sequence[Latent],
    sources: Sequence[Hashable],
    origins: Sequence[Hashable],
    noun: Noun,
    known: Sequence[Family] | None = None,
) -> Families:
    """The families and clusters of hits.

    Of each hit: its latent, the chain or prior draw that it comes from, and where that chain started. The families are
    those that are `known`, of which no hit is in two; without these, vectors are grouped here.
    """
    clusters = clusters_of(zs, origins)
    if known is None:
        known = _of_vectors(zs, origins, noun) if zs and form_of(zs[0]) is VECTORS else ()
    return with_families(Families((NO_FAMILY,) * len(zs), clusters, _numbered(sources)), known)


def with_families(families: Families, known: Sequence[Family]) -> Families:
    """The same hits in these families."""
    numbers = [NO_FAMILY] * len(families.numbers)
    for number, family in enumerate(known, start=1):
        for place in family.members:
            numbers[place] = number
    named = tuple(replace(family, number=number) for number, family in enumerate(known, start=1))
    return replace(families, numbers=tuple(numbers), known=named)


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
    indicator). An interval allows for having seen the family first, and holds for it by itself: their number is not
    corrected for.
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
        return rate_of_seen(known) if known.count else None

    return replace(families, known=tuple(replace(family, rate=rate(family)) for family in families.known))


def _of_vectors(zs: Sequence[Latent], origins: Sequence[Hashable], noun: Noun) -> list[Family]:
    """A family for each set of neighbors (single linkage)."""
    places: dict[int, list[int]] = {}
    for place, first in enumerate(_components(len(zs), _neighbors(zs, origins))):
        places.setdefault(first, []).append(place)
    return [Family(Pattern(), SOUGHT, members=tuple(each), noun=noun) for each in places.values()]


def _neighbors(zs: Sequence[Latent], origins: Sequence[Hashable]) -> Pairs:
    """The pairs of vectors that are alike, or that are of one origin and at most NEAR from each other."""
    return [
        (i, j)
        for i, j in combinations(range(len(zs)), 2)
        if float(np.linalg.norm(zs[i] - zs[j])) <= (NEAR if origins[i] == origins[j] else ALIKE)
    ]


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
