"""Every phrasing of CLEVR's templates is read as its family's program."""

from __future__ import annotations

from collections import defaultdict

import pytest

from tests.scenes.questions.phrasings import phrasings, variants
from trex.scenes.questions.english import lexicon, parse, phrase, things
from trex.scenes.questions.families import FAMILIES
from trex.scenes.questions.family_forms import family_of

BY_FAMILY: dict[str, list[str]] = defaultdict(list)
for _name, _text in phrasings():
    BY_FAMILY[_name].append(_text)


def test_all_families_have_phrasings_here() -> None:
    assert set(BY_FAMILY) == {family.name for family in FAMILIES}
    assert (
        sum(map(len, BY_FAMILY.values())) > 425
    )  # CLEVR's own number; it leaves out some for some attributes


@pytest.mark.parametrize("name", sorted(BY_FAMILY))
def test_all_phrasings_of_a_family_have_one_program(name: str) -> None:
    """One of them is ours: `test_round_trip` compares its program with the family's own."""
    texts = [variant for text in BY_FAMILY[name] for variant in variants(text)]
    program = parse(texts[0])
    family = family_of(program)
    assert family is not None and family.name == name
    assert phrase(program) in texts
    assert [text for text in texts if parse(text) != program] == []


def test_left_read_as_right_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: one synonym of "left of" means right."""
    monkeypatch.setitem(things.RELATIONS, lexicon.RELATION_PHRASES["left"][1], "right")
    with pytest.raises(AssertionError):
        test_all_phrasings_of_a_family_have_one_program("three_hop/count")
