"""The families of a gallery: which hit stands for each, and the line that its card shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trex.families.family import Family
from trex.families.relatives import Families
from trex.foundation.percent import percent
from trex.foundation.words import capitalized, counted
from trex.worlds.description import Noun

ALONE = "alone"  # the filter's value for all hits that are no family's


@dataclass(frozen=True)
class FamilyCard:
    """What the card of a family's most confident hit says of the family."""

    number: int
    words: str
    counts: str  # "4 scenes, 40.0% of all 10 found"
    rate: str
    size: int


@dataclass(frozen=True)
class FamilyChoice:
    """One entry of the gallery's filter."""

    value: str
    words: str


def family_card(family: Family, families: Families, noun: Noun) -> FamilyCard | None:
    """The family in the words of a card; None for one hit of which nothing is known."""
    if family.is_alone:
        return None
    n = len(families.numbers)
    scenes = counted(family.size, noun.one, noun.many)
    counts = f"{scenes}, {percent(family.size / n)} of all {n} found"
    rate = family.how_often + ("" if family.rate else f" (no prior {noun.one} is in it)")
    return FamilyCard(family.number, capitalized(family.words), counts, rate, family.size)


def first_places(families: Families, most: int) -> list[int]:
    """The places of the hits that a gallery shows, in its order: one of each family, then the others.

    Hits of which nothing is known are not families to a reader; they are among the others.
    """
    heads = [family.representative for family in families.known if not family.is_alone]
    known = set(heads)
    others = [place for place in range(len(families.numbers)) if place not in known]
    return [*heads, *others][:most]


def choices(families: Families, noun: Noun) -> Sequence[FamilyChoice]:
    """The families to filter by; none if there is nothing to choose."""
    several = [family for family in families.known if not family.is_alone]
    alone = families.count - len(several)
    found = [
        FamilyChoice(str(family.number), f"{family.number}: {family.words} ({family.size})")
        for family in several
    ]
    if alone and found:
        found.append(FamilyChoice(ALONE, f"{noun.many} by themselves ({alone})"))
    return found


def family_key(families: Families, place: int) -> str:
    """The filter's value of a hit."""
    family = families.known[families.numbers[place] - 1]
    return ALONE if family.is_alone else str(family.number)
