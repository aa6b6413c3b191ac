"""The order and filter of a gallery: one scene of each family first; an unexplained scene by itself is none."""

from __future__ import annotations

from trex.families.family import Family
from trex.families.pattern import Pattern
from trex.families.relatives import Families
from trex.report.family_cards import ALONE, choices, family_card, family_key, first_places
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


def test_a_card_tells_the_family_and_its_share_of_the_hits() -> None:
    cards = [family_card(family, FAMILIES, SCENE) for family in FAMILIES.known]
    assert [card.counts.replace("\u00a0", " ") for card in cards if card] == [
        "2 scenes, 33.3% of all 6 found",
        "2 scenes, 33.3% of all 6 found",
        "1 scene, 16.7% of all 6 found",
    ]
    assert cards[1] is None
    assert cards[0] is not None and cards[0].words == "A red object"
    assert cards[0].rate == "— (no prior scene is in it)"


def test_each_scene_is_reached_by_one_choice_of_the_filter() -> None:
    values = [choice.value for choice in choices(FAMILIES, SCENE)]
    assert values == ["1", "3", "4", ALONE]
    assert [family_key(FAMILIES, place) for place in range(6)] == ["1", "1", ALONE, "3", "4", "3"]
    alone = Families(numbers=(1,), known=(Family(Pattern(), number=1, members=(0,)),))
    assert choices(alone, SCENE) == []
