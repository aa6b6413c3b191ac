"""Random scenes that meet the conditions of a family which the held-out scenes show too seldom to judge it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from trex.families.family import Family
from trex.inference.statistics.proportion import Interval, Proportion, clopper_pearson
from trex.scenes.conditions import Asked
from trex.scenes.graph import facts_of
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import Vocabulary

FEW = 20  # held-out scenes in which a family's conditions hold, below which more are drawn; and how many are rendered
Member = tuple[int, Scene]


@dataclass(frozen=True)
class Sought:
    """Random scenes that were drawn until `members` met the conditions, or until there were enough: `drawn`."""

    members: tuple[Member, ...]
    drawn: int
    is_full: bool  # drawing ended with the last member

    @property
    def value(self) -> float:
        """How often the conditions hold; (k - 1) / (n - 1), which has no bias (Haldane 1945), if drawing ended so."""
        n = len(self.members)
        return (n - 1) / (self.drawn - 1) if self.is_full and n > 1 else n / max(1, self.drawn)

    def holds(self, level: float) -> Proportion:
        """How often the conditions hold in a random scene, with an interval of this level (`inverse_interval`)."""
        n = len(self.members)
        interval = (
            inverse_interval(n, self.drawn, level) if self.is_full else clopper_pearson(n, self.drawn, level)
        )
        return Proportion(n, self.drawn, interval)


def inverse_interval(hits: int, draws: int, level: float) -> Interval:
    """The exact interval of a rate if draws were made until there were so many hits (inverse binomial sampling).

    At most d draws are needed just if d draws hold at least that many hits, and at least d just if d - 1 draws hold
    fewer (Haldane 1945, Biometrika 33, 222-225): Clopper and Pearson's limits with one draw less for the upper one.
    """
    low = clopper_pearson(hits, draws, level).low
    return Interval(low, clopper_pearson(hits - 1, draws - 1, level).high)


def sought_members(
    families: Sequence[Family],
    members: Iterable[Member],
    vocabulary: Vocabulary,
    questions: Callable[[Scene, int], Sequence[Asked]],
    enough: int = FEW,
) -> list[Sought]:
    """For each family, the first `enough` of these random scenes in which its conditions hold; fewer if they end."""
    found: list[list[Member]] = [[] for _ in families]
    drawn = [0] * len(families)
    for number, scene in members:
        open_ = [k for k, mine in enumerate(found) if len(mine) < enough]
        if not open_:
            break
        facts = None
        for k in open_:
            drawn[k] += 1
            if not _can_hold(families[k], scene):
                continue
            facts = facts or facts_of(scene, vocabulary)
            asked = questions(scene, number) if families[k].symptom.level == "question" else ()
            if families[k].holds(facts, asked).any():
                found[k].append((number, scene))
    return [Sought(tuple(mine), n, len(mine) == enough) for mine, n in zip(found, drawn, strict=True)]


def _can_hold(family: Family, scene: Scene) -> bool:
    """Whether some object has the attributes that the conditions name; what else they say needs a scene's facts."""
    named = [
        (term.name, term.word)
        for conditions in family.pattern.objects
        for condition in conditions
        if condition.part == "noun"
        for term in condition.terms
    ]
    return any(all(getattr(item, name) == word for name, word in named) for item in scene.objects)
