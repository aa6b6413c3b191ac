"""Which descriptions fit hits more often than prior scenes: of an object in the scene, and of the one responsible."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trex.families.pattern import object_words
from trex.foundation.percent import whole_percent
from trex.foundation.words import counted
from trex.inference.statistics.discoveries import discoveries, excess_p_value, groups_needed
from trex.inference.statistics.proportion import Interval, clopper_pearson
from trex.inference.statistics.two_phase import Selection, estimate, everyone
from trex.inference.statistics.weighted import upper_counts
from trex.inference.types import Floats
from trex.scenes.conditions import ORDER, Condition, has
from trex.scenes.scene import Scene, SceneObject
from trex.scenes.vocabulary import Vocabulary

MAX_ADJECTIVES = 2  # of size, color and material; the shape is the noun
FALSE_SHARE = 0.05  # of the rows that are named
EXAMPLE_SHARE, EXAMPLE_LIFT = 0.1, 3.0  # what the number of groups that would be needed is told for
Kind = Literal["present", "responsible"]
KINDS: tuple[Kind, ...] = ("present", "responsible")
Description = tuple[Condition, ...]  # at most one condition for each attribute


@dataclass(frozen=True)
class Example:
    """A hit, its cluster (hits of one cluster resemble each other), and the object responsible."""

    scene: Scene
    cluster: Hashable
    responsible: int | None = None


@dataclass(frozen=True)
class Enriched:
    """How often a description applies here and under the prior.

    `present`: shares of scenes that hold such an object. `responsible`: of the explained scenes with an object
    responsible, the share in which it is one, and the share of such objects among those of a scene of the prior. Scenes
    of one group count once: `hits` is the sum over `n` groups of the share of each. The intervals are each row's own,
    at 95%.
    """

    description: Description
    kind: Kind
    hits: float
    n: int
    interval: Interval
    prior_share: float
    prior_interval: Interval
    p_value: float
    is_clear: bool = False  # named: of all rows that are, 5% are expected to be chance (false discovery rate)

    @property
    def share(self) -> float:
        """The share here."""
        return self.hits / self.n

    @property
    def lift(self) -> float:
        """The share here divided by the prior's; inf if no prior scene has it."""
        return self.share / self.prior_share if self.prior_share else math.inf

    @property
    def words(self) -> str:
        """The description in words: "a small metal cylinder", "a blue object"."""
        return object_words(self.description)


@dataclass(frozen=True)
class Enrichment:
    """The rows, clearest first, and the number of rows considered."""

    rows: tuple[Enriched, ...]
    considered: int
    clusters: int
    scenes: int

    def clear(self, kind: Kind, n: int) -> tuple[Enriched, ...]:
        """Those of the first n rows of a kind that are significantly more frequent here than under the prior."""
        return tuple(row for row in self.rows if row.kind == kind and row.is_clear)[:n]

    @property
    def is_clear(self) -> bool:
        """Whether any row is clear."""
        return any(row.is_clear for row in self.rows)

    def sentence(self) -> str:
        """The number of independent scenes, and whether it suffices as evidence."""
        scenes, groups = counted(self.scenes, "scene"), counted(self.clusters, "independent group")
        sample = f"{scenes} in {groups} (scenes of one chain or family are one group)"
        if self.is_clear:
            return (
                f"Descriptions that fit here more often than under the prior, for {sample}. Of {self.considered} "
                f"considered, these stand out; {whole_percent(FALSE_SHARE)} of such rows are expected to be chance "
                "(false discovery rate)."
            )
        return (
            f"Nothing can be said yet: {sample} is too small a sample to tell any of {self.considered} descriptions "
            f"from what the prior shows anyway. One that fits {whole_percent(EXAMPLE_SHARE)} of the prior and "
            f"{EXAMPLE_LIFT:g} times as many here would stand out among {self.needed} groups."
        )

    @property
    def needed(self) -> int:
        """The number of groups that a lift of 3 takes, of a description that fits a tenth of the prior."""
        return groups_needed(EXAMPLE_LIFT * EXAMPLE_SHARE, EXAMPLE_SHARE, self.considered, FALSE_SHARE)


@dataclass(frozen=True)
class ObjectTable:
    """All objects of some scenes: hundreds of descriptions are counted among thousands of objects."""

    columns: Mapping[str, NDArray[np.str_]]  # (objects,) for each attribute
    begins: NDArray[np.intp]  # (scenes,): where each scene's objects begin
    sizes: NDArray[np.intp]  # (scenes,): how many it has

    @staticmethod
    def of(scenes: Sequence[Scene]) -> ObjectTable:
        """The table of these scenes, each of at least one object."""
        items = [item for scene in scenes for item in scene.objects]
        sizes = np.array([len(scene.objects) for scene in scenes], dtype=np.intp)
        columns = {name: np.array([getattr(item, name) for item in items]) for name in ORDER}
        return ObjectTable(columns, np.cumsum(sizes) - sizes, sizes)

    def values(self, kind: Kind, description: Description) -> Floats:
        """(scenes,): whether each holds such an object, or which share of its objects are such."""
        fit = np.ones(int(self.sizes.sum()), dtype=np.float64)
        for term in (term for condition in description for term in condition.terms):
            fit *= self.columns[term.name] == term.word
        counts = np.add.reduceat(fit, self.begins)
        return (counts > 0).astype(np.float64) if kind == "present" else counts / self.sizes


def enriched(
    found: Sequence[Example],
    prior: Sequence[Scene],
    vocabulary: Vocabulary,
    selection: Selection | None = None,
) -> Enrichment | None:
    """Every description of up to two adjectives, with or without a shape; None if there is nothing to compare.

    `selection` tells how the prior's scenes were chosen from a bank; without it, they are plain prior draws.
    """
    explained = [example for example in found if example.responsible is not None]
    samples: dict[Kind, list[Example]] = {"present": list(found), "responsible": explained}
    described = list(descriptions(vocabulary))
    kinds = [kind for kind in KINDS if samples[kind]]
    if not kinds or not prior:
        return None
    chosen = selection or everyone(len(prior))
    looks = ObjectTable.of(prior)
    tests = [
        _row(kind, conditions, samples[kind], looks, chosen) for kind in kinds for conditions in described
    ]
    named = discoveries(np.array([row.p_value if row else 1.0 for row in tests]), FALSE_SHARE)
    rows = [replace(row, is_clear=bool(clear)) for row, clear in zip(tests, named, strict=True) if row]
    rows.sort(key=lambda row: (row.p_value, row.prior_share, row.words))
    clusters = len({example.cluster for example in found})
    return Enrichment(tuple(_without_echoes(rows, samples)), len(tests), clusters, len(found))


def descriptions(vocabulary: Vocabulary) -> Iterator[Description]:
    """Every description that an allowed object may match, by up to two adjectives, with or without a shape."""
    values = [(None, *(has(name, value) for value in vocabulary.available(name))) for name in ORDER]
    allowed = [SceneObject(*category, 0.0, 0.0, 0.0) for category in vocabulary.combinations()]
    for *adjectives, shape in product(*values):
        chosen = tuple(condition for condition in (*adjectives, shape) if condition is not None)
        few = sum(adjective is not None for adjective in adjectives) <= MAX_ADJECTIVES
        if few and chosen and any(fits(chosen, item) for item in allowed):
            yield chosen


def fits(description: Description, item: SceneObject) -> bool:
    """Whether a description matches an object."""
    return all(getattr(item, term.name) == term.word for condition in description for term in condition.terms)


def _row(
    kind: Kind, description: Description, found: Sequence[Example], prior: ObjectTable, chosen: Selection
) -> Enriched | None:
    """The row of a description, with its p-value; None, which stands for a p-value of 1, if nothing here fits it."""
    groups: dict[Hashable, list[bool]] = {}
    for example in found:
        groups.setdefault(example.cluster, []).append(_is_in(kind, description, example))
    hits = sum(sum(group) / len(group) for group in groups.values())
    if not hits:
        return None
    values = prior.values(kind, description)
    counts = upper_counts(values, chosen.weights, chosen.n, chosen.heaviest)
    known = estimate(chosen, values)
    return Enriched(
        description=description,
        kind=kind,
        hits=hits,
        n=len(groups),
        interval=clopper_pearson(hits, len(groups)),
        prior_share=known.value,
        prior_interval=known.interval,
        p_value=excess_p_value(hits, len(groups), counts),
    )


def _is_in(kind: Kind, description: Description, example: Example) -> bool:
    items = example.scene.objects
    if kind == "present":
        return any(fits(description, item) for item in items)
    return example.responsible is not None and fits(description, items[example.responsible])


def _without_echoes(
    rows: Sequence[Enriched], samples: Mapping[Kind, Sequence[Example]]
) -> Iterator[Enriched]:
    """Rows without repetitions: of several that hold in exactly the same scenes, only the first."""
    seen = set()
    for row in rows:
        mark = (row.kind, tuple(_is_in(row.kind, row.description, sample) for sample in samples[row.kind]))
        if mark not in seen:
            seen.add(mark)
            yield row
