"""The order and filter of a gallery: one scene of each family first; an unexplained scene by itself is none."""

from __future__ import annotations

from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.relatives import Families
from trex.report.gallery import ALONE, family_choices, family_counts, family_key, first_places
from trex.scenes.conditions import has
from trex.worlds.description import Noun

SCENE = Noun("scene", "scenes")
RED = Pattern(((has("color", "red"),),))
FAMILIES = Families(
    numbers=(1, 1, 2, 3, 4, 3),
    known=(
        Family(RED, number=1, members=(0, 1), is_explained=True),
        Family(Pattern(), number=2, members=(2,)),
        Family(Pattern(), number=3, members=(3, 5)),
        Family(Pattern(), number=4, members=(4,), is_explained=True),
    ),
)


def test_one_scene_of_each_family_comes_first_then_the_others_by_confidence() -> None:
    assert first_places(FAMILIES, 240) == [0, 3, 4, 1, 2, 5]
    assert first_places(FAMILIES, 4) == [0, 3, 4, 1]  # no family is cut off before a second scene is shown


def test_each_scene_is_reached_by_one_choice_of_the_filter() -> None:
    values = [value for value, _ in family_choices(FAMILIES, SCENE)]
    assert values == ["1", "3", "4", ALONE]
    assert [family_key(FAMILIES.known[number - 1]) for number in FAMILIES.numbers] == [
        "1",
        "1",
        ALONE,
        "3",
        "4",
        "3",
    ]
    assert (
        family_counts(FAMILIES.known[0], 6, SCENE).replace("\u00a0", " ") == "2 scenes, 33.3% of all 6 found"
    )
    alone = Families(numbers=(1,), known=(Family(Pattern(), number=1, members=(0,)),))
    assert family_choices(alone, SCENE) == []
