"""Finds what hits have in common and prior scenes lack: attributes, and kinds of objects to blame."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from trex.explain.explanation import Explanation
from trex.inference.statistics.clustered import clustered_interval
from trex.inference.statistics.proportion import Interval
from trex.runs.manifest import Manifest
from trex.runs.world_of import world_of
from trex.scenes.questions.filters import FILTER_ORDER, Description
from trex.scenes.scene import Scene, SceneObject
from trex.scenes.vocabulary import Vocabulary
from trex.search.results import Results
from trex.worlds.latents import scene_of

MOST_ADJECTIVES = 2  # of size, color and material; the shape is the noun
LEVEL = 0.95
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
    share whose culprit is one, and the share of such objects among all objects of the prior's scenes. The intervals
    of all rows hold together at 95 % (Bonferroni over every row considered, shown or not).
    """

    said: Description
    kind: Kind
    hits: int
    n: int
    interval: Interval
    prior_share: float
    prior_interval: Interval

    @property
    def share(self) -> float:
        """The share here."""
        return self.hits / self.n

    @property
    def lift(self) -> float:
        """The share here divided by the prior's; inf if no prior scene has it."""
        return self.share / self.prior_share if self.prior_share else math.inf

    @property
    def lift_interval(self) -> Interval:
        """Computed from the ends of both shares' intervals, hence conservative."""
        high = self.interval.high / self.prior_interval.low if self.prior_interval.low else math.inf
        return Interval(self.interval.low / self.prior_interval.high, high)

    @property
    def is_clear(self) -> bool:
        """Whether it is more frequent here than under the prior, after correction for the rows considered."""
        return self.lift_interval.low > 1.0

    @property
    def words(self) -> str:
        """The description in words: "small metal cylinder", "blue thing"."""
        return " ".join([*(word for word in self.said[:-1] if word), self.said[-1] or "thing"])

    def sentence(self) -> str:
        """The pattern in a sentence, for the report."""
        one = f"{'an' if self.words[0] in 'aeiou' else 'a'} {self.words}"
        fact = f"{one} is the object to blame in" if self.kind == "to blame" else f"{one} is in"
        return (
            f"{fact[0].upper()}{fact[1:]} {self.share:.0%} of {self.n} scenes, prior {self.prior_share:.2g}"
        )


@dataclass(frozen=True)
class Patterns:
    """The rows, highest lift first, and the number of rows considered."""

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
        groups = f"{self.clusters} independent group{'' if self.clusters == 1 else 's'}"
        counted = f"{self.scenes} scene{'' if self.scenes == 1 else 's'} in {groups}"
        counted += " (scenes of one chain or family are one group)"
        if self.is_clear:
            return (
                f"Descriptions that surely fit here more often than under the prior: of {self.considered} considered "
                f"the intervals hold together (95 %, Bonferroni), for {counted}."
            )
        return (
            f"Nothing can be said yet: {counted} are too few to tell any of {self.considered} descriptions from what "
            "the prior shows anyway."
        )

    def top(self, kind: Kind, n: int) -> tuple[Pattern, ...]:
        """The first n rows of a kind; of rows true of the same hits, only the one rarest under the prior."""
        return tuple(row for row in self.rows if row.kind == kind)[:n]


def find_patterns(
    found: Sequence[Example], prior: Sequence[Scene], vocabulary: Vocabulary
) -> Patterns | None:
    """Every description of up to two adjectives, with or without a shape; None if there is nothing to compare."""
    blamed = [example for example in found if example.culprit is not None]
    samples: dict[Kind, list[Example]] = {"present": list(found), "to blame": blamed}
    said = [description for description in descriptions(vocabulary) if any(description)]
    kinds = [kind for kind in KINDS if samples[kind]]
    if not kinds or not prior:
        return None
    considered = len(said) * len(kinds)
    rows = [_row(kind, one, samples[kind], prior, considered) for kind in kinds for one in said]
    held = [row for row in rows if row.hits]
    held.sort(key=lambda row: (-row.lift_interval.low, row.prior_share, row.words))
    clusters = len({example.cluster for example in found})
    return Patterns(tuple(_without_echoes(held, samples)), considered, clusters, len(found))


def run_patterns(
    manifest: Manifest, findings: Results, explanations: Mapping[str, Explanation]
) -> Patterns | None:
    """The patterns of a run's hits against its prior draws; relatives form one cluster (`trex.search.families`).

    Returns None in a world without objects.
    """
    if not world_of(manifest).has_scenes:
        return None
    examples = []
    for scene, cluster in zip(findings.found, findings.families.clusters, strict=True):
        record = scene.record
        explained = explanations.get(record.picture)
        examples.append(Example(record.scene, cluster, explained.culprit.index if explained else None))
    return find_patterns(examples, [scene_of(draw.z) for draw in findings.prior], manifest.vocabulary)


def descriptions(vocabulary: Vocabulary) -> Iterator[Description]:
    """Every description that an allowed object may match, the empty one included."""
    values = [(None, *vocabulary.available(attribute)) for attribute in FILTER_ORDER]
    for size, color, material, shape in product(*values):
        said = (size, color, material, shape)
        few = sum(word is not None for word in said[:-1]) <= MOST_ADJECTIVES
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
    kind: Kind, said: Description, found: Sequence[Example], prior: Sequence[Scene], considered: int
) -> Pattern:
    holds = _holds(kind, said)
    clusters: dict[Hashable, list[bool]] = {}
    for example in found:
        clusters.setdefault(example.cluster, []).append(holds(example))
    hits = [sum(cluster) for cluster in clusters.values()]
    if kind == "present":
        prior_hits = [int(any(fits(said, o) for o in scene.objects)) for scene in prior]
        prior_sizes = [1] * len(prior)
    else:
        prior_hits = [sum(fits(said, o) for o in scene.objects) for scene in prior]
        prior_sizes = [len(scene.objects) for scene in prior]
    level = 1 - (1 - LEVEL) / (2 * considered)  # two intervals per row
    return Pattern(
        said=said,
        kind=kind,
        hits=sum(hits),
        n=len(found),
        interval=clustered_interval(hits, [len(cluster) for cluster in clusters.values()], level),
        prior_share=sum(prior_hits) / sum(prior_sizes),
        prior_interval=clustered_interval(prior_hits, prior_sizes, level),
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
