"""The Relation Network's words: a file of them is checked, and the recovered numbers are the published ones moved."""

from __future__ import annotations

import json
from typing import cast

from tests.references.official_clevr import data_file
from trex.clevr_models.relation_network.model import (
    FILE,
    how_found,
    read_vocabulary,
    relation_vocabulary,
)

OPEN = {
    *("an", "another", "anything", "do", "either", "else", "equal"),
    *("fewer", "greater", "has", "less", "visible"),
}
OPEN_ANSWERS = ("7", "8", "9", "10")


def test_every_output_has_one_answer() -> None:
    indices = json.loads(FILE.read_text())["answer_token_to_idx"]
    assert sorted(indices.values()) == list(range(1, 29))
    assert [indices[answer] for answer in relation_vocabulary().answers] == list(range(1, 29))


def test_the_card_says_how_the_words_were_found_and_which_stay_uncertain() -> None:
    found, words = how_found(), relation_vocabulary().words
    margins = cast(dict[str, float], found["margins in log likelihood alone"])
    indices = cast(dict[str, int], found["indices"])
    assert indices == {word: words[word] for word in OPEN}
    assert sorted(indices.values()) == list(range(71, 83))
    assert set(margins) == set(cast(dict[str, float], found["margins"])) == OPEN
    unsettled = cast(list[str], found["not settled by questions alone"])
    settled = [margins[word] for word in OPEN - set(unsettled)]
    assert max(margins[word] for word in unsettled) < min(settled)
    assert "likelihood" in str(found["method"])


def test_the_package_s_words_are_those_at_hand_with_only_open_ones_moved() -> None:
    start = read_vocabulary(data_file("models/relation_network/vocab.json"))
    ours = relation_vocabulary()
    moved = {word for word, index in ours.words.items() if start.words[word] != index}
    assert moved <= OPEN and len(set(ours.words.values())) == 82
    fixed = [answer for answer in ours.answers if answer not in OPEN_ANSWERS]
    assert all(ours.answers.index(answer) == start.answers.index(answer) for answer in fixed)
