"""One family of hits: its words, its most confident member, its share of the hits and its rate in the prior."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from trex.inference.statistics.how_often import rate_of
from trex.inference.statistics.proportion import Proportion
from trex.inference.targets import GaussianTarget
from trex.scenes.appearance import Appearance
from trex.scenes.scene import Scene
from trex.search.sampling.prior_sample import PriorSample
from trex.worlds.description import Noun
from trex.worlds.latents import Latent, StoredLatent, to_stored

NAMED = 2  # objects that the name of a family without an explanation holds


@dataclass(frozen=True)
class Family:
    """A family; `places` are its members' places among the hits, most confident first.

    `rate` is how often a prior scene belongs to it, None if no prior scene that the rate counts does. `is_explained`:
    whether its words name what is to blame.
    """

    number: int
    words: str
    places: tuple[int, ...]
    rate: Proportion | None = None
    is_explained: bool = False

    @property
    def is_alone(self) -> bool:
        """Whether it is one scene of which nothing is known to be to blame: that may be a family or not."""
        return self.size == 1 and not self.is_explained

    @property
    def representative(self) -> int:
        """The place of the most confident member."""
        return self.places[0]

    @property
    def size(self) -> int:
        """The number of distinct hits."""
        return len(self.places)

    @property
    def how_often(self) -> str:
        """The rate in words: "1.2 % (95 %: 0.4 % to 3.1 %)"; a dash if no prior scene belongs to the family."""
        if self.rate is None:
            return "—"
        if self.rate.point is None:
            return f"{self.rate.range} (95\u00a0%)"
        return f"{self.rate.figure} (95\u00a0%: {self.rate.range})"


def family_words(zs: Sequence[Latent], blamed: Sequence[frozenset[Appearance]], noun: Noun) -> str:
    """The name of a family, from what is to blame in its members, else from what they share; most confident first."""
    first, *others = [cause for cause in blamed if cause] or [frozenset()]
    if first:
        return " and ".join(sorted(_common(one, others).words for one in first))
    if len(zs) == 1:
        return f"one {noun.one} by itself, not explained"
    scenes = [z for z in zs if isinstance(z, Scene)]
    return f"{noun.many} around {_shared_words(scenes)}" if scenes else f"{noun.many} close to each other"


def family_rates(
    families: Sequence[Sequence[int]],
    found: Sequence[Latent],
    fragile: Collection[StoredLatent],
    sample: PriorSample,
    target: GaussianTarget,
    are_distinct: Callable[[Latent, Latent], bool],
) -> list[Proportion | None]:
    """How often a prior scene belongs to each family, given as places in `found`; None if no counted one does.

    A hit among the prior draws belongs to the family of the found scene that it is, or else is not distinct from.
    Each counts for all prior scenes that it stands for (`two_phase.estimate` of the indicator). An interval holds for
    a family by itself; there is no correction for their number, nor for having seen the family first.
    """
    draws, selection = sample.counted
    place = {to_stored(z): k for k, z in enumerate(found)}
    homes = np.full(len(draws), -1)
    for row, draw in enumerate(draws):
        stored = to_stored(draw.z)
        if stored in fragile or not target.is_hit(draw.evaluation.log_probs):
            continue
        alike = (k for k, z in enumerate(found) if not are_distinct(draw.z, z))
        homes[row] = place[stored] if stored in place else next(alike, -1)
    rates = []
    for places in families:
        is_member = np.isin(homes, places).astype(float)
        said = rate_of(is_member, selection, sample.how_often.level)
        rates.append(said if said.count else None)
    return rates


def _common(one: Appearance, others: Sequence[frozenset[Appearance]]) -> Appearance:
    """The object by what it has in common with the most similar one in each of the other causes."""
    return one.shared([max(other, key=lambda two: _likeness(one, two)) for other in others])


def _likeness(one: Appearance, two: Appearance) -> tuple[bool, bool, int, str]:
    agreed = sum(a == b for a, b in zip(one.category, two.category, strict=True))
    return (one.is_like(two), (one.seen, one.hider) == (two.seen, two.hider), agreed, two.words)


def _shared_words(scenes: Sequence[Scene]) -> str:
    """The kinds of object that all scenes hold, at most two; if there is none, the one that most of them hold."""
    kinds = [Counter(item.category for item in scene.objects) for scene in scenes]
    order = [item.category for item in scenes[0].objects]
    everywhere = [kind for kind in dict.fromkeys(order) if all(kind in one for one in kinds)][:NAMED]
    times = Counter(kind for one in kinds for kind in one)
    picked = everywhere or [max(times, key=lambda kind: (times[kind], kind))]
    return " and ".join(f"a {size} {color} {material} {shape}" for shape, size, color, material in picked)
