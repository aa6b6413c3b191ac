"""Finds what hits have in common and prior scenes lack: attributes, and kinds of objects to blame."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trex.explain.explanation import Explanation
from trex.foundation.percent import whole_percent
from trex.foundation.words import capitalized, counted
from trex.inference.statistics.discoveries import discoveries, excess_p_value, groups_needed
from trex.inference.statistics.proportion import Interval, clopper_pearson
from trex.inference.statistics.two_phase import Selection, estimate, everyone
from trex.inference.statistics.weighted import upper_counts
from trex.inference.types import Floats
from trex.runs.manifest import Manifest
from trex.runs.world_of import world_of
from trex.scenes.questions.filters import FILTER_ORDER, Description
from trex.scenes.scene import Scene, SceneObject
from trex.scenes.vocabulary import Vocabulary
from trex.search.results import Results
from trex.worlds.latents import scene_of

MAX_ADJECTIVES = 2  # of size, color and material; the shape is the noun
FALSE_SHARE = 0.05  # of the rows that are named
EXAMPLE_SHARE, EXAMPLE_LIFT = 0.1, 3.0  # what the number of groups that would be needed is told for
Kind = Literal["present", "to blame"]
KINDS: tuple[Kind, ...] = ("present", "to blame")


@dataclass(frozen=True)
class Example:
    """A hit, its cluster (hits of one cluster resemble each other), and the object to blame."""

    scene: Scene
    cluster: Hashable
    culprit: int | None = None


@dataclass(frozen=True)
class Pattern:
    """How often a description applies here and under the prior.

    `present`: shares of scenes that hold such an object. `to blame`: of the explained scenes with a culprit, the
    share whose culprit is one, and the share of such objects among those of a scene of the prior. Scenes of one group
    count once: `hits` is the sum over `n` groups of the share of each. The intervals are each row's own, at 95 %.
    """

    said: Description
    kind: Kind
    hits: float
    n: int
    interval: Interval
    prior_share: float
    prior_interval: Interval
    p_value: float
    is_clear: bool = (
        False  # named: of all rows that are, 5 % are expected to be chance (false discovery rate)
    )

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
        """The description in words: "small metal cylinder", "blue thing"."""
        return " ".join([*(word for word in self.said[:-1] if word), self.said[-1] or "thing"])

    def sentence(self) -> str:
        """The pattern in a sentence, for the report."""
        one = f"{'an' if self.words[0] in 'aeiou' else 'a'} {self.words}"
        fact = f"{one} is the object to blame in" if self.kind == "to blame" else f"{one} is in"
        return f"{capitalized(fact)} {whole_percent(self.share)} of {self.n} groups, prior {self.prior_share:.2g}"


@dataclass(frozen=True)
class Patterns:
    """The rows, clearest first, and the number of rows considered."""

    rows: tuple[Pattern, ...]
    considered: int
    clusters: int
    scenes: int

    def clear(self, kind: Kind, n: int) -> tuple[Pattern, ...]:
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

    def top(self, kind: Kind, n: int) -> tuple[Pattern, ...]:
        """The first n rows of a kind; of rows true of the same hits, only the one rarest under the prior."""
        return tuple(row for row in self.rows if row.kind == kind)[:n]


@dataclass(frozen=True)
class ObjectTable:
    """All objects of some scenes, column by column: hundreds of descriptions are counted among thousands of objects."""

    columns: tuple[NDArray[np.str_], ...]  # in the order of FILTER_ORDER, (objects,) each
    begins: NDArray[np.intp]  # (scenes,): where each scene's objects begin
    sizes: NDArray[np.intp]  # (scenes,): how many it has

    @staticmethod
    def of(scenes: Sequence[Scene]) -> ObjectTable:
        """The table of these scenes, each of at least one object."""
        items = [item for scene in scenes for item in scene.objects]
        sizes = np.array([len(scene.objects) for scene in scenes], dtype=np.intp)
        columns = tuple(np.array([getattr(item, name) for item in items]) for name in FILTER_ORDER)
        return ObjectTable(columns, np.cumsum(sizes) - sizes, sizes)

    def values(self, kind: Kind, said: Description) -> Floats:
        """(scenes,): whether each holds such an object, or which share of its objects are such."""
        fit = np.ones(int(self.sizes.sum()), dtype=np.float64)
        for word, column in zip(said, self.columns, strict=True):
            if word is not None:
                fit *= column == word
        counts = np.add.reduceat(fit, self.begins)
        return (counts > 0).astype(np.float64) if kind == "present" else counts / self.sizes


def find_patterns(
    found: Sequence[Example],
    prior: Sequence[Scene],
    vocabulary: Vocabulary,
    selection: Selection | None = None,
) -> Patterns | None:
    """Every description of up to two adjectives, with or without a shape; None if there is nothing to compare.

    `selection` tells how the prior's scenes were chosen from a bank; without it, they are plain prior draws.
    """
    blamed = [example for example in found if example.culprit is not None]
    samples: dict[Kind, list[Example]] = {"present": list(found), "to blame": blamed}
    said = [description for description in descriptions(vocabulary) if any(description)]
    kinds = [kind for kind in KINDS if samples[kind]]
    if not kinds or not prior:
        return None
    chosen = selection or everyone(len(prior))
    looks = ObjectTable.of(prior)
    tests = [_row(kind, one, samples[kind], looks, chosen) for kind in kinds for one in said]
    named = discoveries(np.array([row.p_value if row else 1.0 for row in tests]), FALSE_SHARE)
    rows = [replace(row, is_clear=bool(clear)) for row, clear in zip(tests, named, strict=True) if row]
    rows.sort(key=lambda row: (row.p_value, row.prior_share, row.words))
    clusters = len({example.cluster for example in found})
    return Patterns(tuple(_without_echoes(rows, samples)), len(tests), clusters, len(found))


def run_patterns(
    manifest: Manifest, results: Results, explanations: Mapping[str, Explanation]
) -> Patterns | None:
    """The patterns of a run's hits against its prior draws; relatives form one cluster (`trex.search.families`).

    Returns None in a world without objects.
    """
    if not world_of(manifest).has_scenes:
        return None
    examples = []
    for scene, cluster in zip(results.found, results.families.clusters, strict=True):
        record = scene.record
        explained = explanations.get(record.picture)
        examples.append(Example(record.scene, cluster, explained.chief if explained else None))
    prior = [scene_of(draw.z) for draw in results.sample.draws]
    return find_patterns(examples, prior, manifest.vocabulary, results.sample.selection)


def descriptions(vocabulary: Vocabulary) -> Iterator[Description]:
    """Every description that an allowed object may match, the empty one included."""
    values = [(None, *vocabulary.available(attribute)) for attribute in FILTER_ORDER]
    for size, color, material, shape in product(*values):
        said = (size, color, material, shape)
        few = sum(word is not None for word in said[:-1]) <= MAX_ADJECTIVES
        if few and any(_allows(said, category) for category in vocabulary.combinations()):
            yield said


def _allows(said: Description, category: tuple[str, str, str, str]) -> bool:
    shape, size, color, material = category
    return all(
        word in (None, value) for word, value in zip(said, (size, color, material, shape), strict=True)
    )


def fits(said: Description, item: SceneObject) -> bool:
    """Whether a description matches an object."""
    return all(
        word is None or word == getattr(item, name) for word, name in zip(said, FILTER_ORDER, strict=True)
    )


def _row(
    kind: Kind, said: Description, found: Sequence[Example], prior: ObjectTable, chosen: Selection
) -> Pattern | None:
    """The row of a description, with its p-value; None, which stands for a p-value of 1, if nothing here fits it."""
    holds = _holds(kind, said)
    groups: dict[Hashable, list[bool]] = {}
    for example in found:
        groups.setdefault(example.cluster, []).append(holds(example))
    hits = sum(sum(group) / len(group) for group in groups.values())
    if not hits:
        return None
    values = prior.values(kind, said)
    counts = upper_counts(values, chosen.weights, chosen.n, chosen.heaviest)
    known = estimate(chosen, values)
    return Pattern(
        said=said,
        kind=kind,
        hits=hits,
        n=len(groups),
        interval=clopper_pearson(hits, len(groups)),
        prior_share=known.value,
        prior_interval=known.interval,
        p_value=excess_p_value(hits, len(groups), counts),
    )


def _holds(kind: Kind, said: Description) -> Callable[[Example], bool]:
    if kind == "present":
        return lambda example: any(fits(said, o) for o in example.scene.objects)
    return lambda example: example.culprit is not None and fits(said, example.scene.objects[example.culprit])


def _without_echoes(rows: Sequence[Pattern], samples: Mapping[Kind, Sequence[Example]]) -> Iterator[Pattern]:
    """Rows without repetitions: of several that hold in exactly the same scenes, only the first."""
    seen = set()
    for row in rows:
        holds = _holds(row.kind, row.said)
        mark = (row.kind, tuple(holds(example) for example in samples[row.kind]))
        if mark not in seen:
            seen.add(mark)
            yield row
