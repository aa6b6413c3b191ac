"""Families and findings in words."""

from __future__ import annotations

from trex.auditing.grouping.family import NO_NUMBER, NO_WORD, OTHER, Family
from trex.foundation.words import capitalized
from trex.scenes.conditions import noun_words, part_words

SAYS_MISSED, SAYS_DOUBLED = "is missed", "is counted twice"


def family_words(family: Family) -> str:
    """The family as a sentence that can be checked: "A metal cylinder less than 60 % visible is taken for a cube."."""
    said = _subject(family)
    rest = part_words(family.conditions, "scene")
    return _sentence(" ".join([*said, *rest]))


def _subject(family: Family) -> list[str]:
    level, what = family.symptom.level, family.symptom.what
    if level == "scene":
        return [f"{what} are confused"]
    if level == "question":
        return _question_words(family)
    return [
        noun_words(family.conditions),
        *part_words(family.conditions, "seen"),
        *part_words(family.conditions, "where"),
        _fate(family),
    ]


def _fate(family: Family) -> str:
    """What an object is taken for."""
    what = family.symptom.what
    if what in ("missed", "doubled"):
        return SAYS_MISSED if what == "missed" else SAYS_DOUBLED
    value = family.value
    if what == "shape":
        return f"is taken for {_one(value)}" if value else "is taken for another shape"
    return f"is seen as {value}" if value else f"is seen in another {what}"


def _question_words(family: Family) -> list[str]:
    what = family.symptom.what
    if what in ("too few", "too many"):
        kind = f"counts {what}"
    elif what == OTHER:
        kind = "gives a wrong answer"
    elif what in (NO_WORD, NO_NUMBER):
        kind = "says neither “yes” nor “no”" if what == NO_WORD else "gives no number"
    else:
        said, _, truth = what.partition(" for ")
        kind = f"says “{said}” for “{truth}”"
    asked = [one.words for one in family.conditions if one.part == "question"]
    example = f" ({family.value})" if family.value else ""
    return [f"the model {kind}{example}", *([f"in questions {', '.join(asked)}"] if asked else [])]


def _one(words: str) -> str:
    return f"{'an' if words[:1] in 'aeiou' else 'a'} {words}"


def _sentence(words: str) -> str:
    return f"{capitalized(words)}."
