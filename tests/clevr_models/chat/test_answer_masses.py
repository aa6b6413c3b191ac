"""Probabilities of answers from tokens and samples: a planted model is recovered, and planted bugs are not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.serving.chat_server import END, Replies, entries
from trex.clevr_models.chat import token_mass
from trex.clevr_models.chat.reply import Alternative, Token
from trex.clevr_models.chat.spellings import SPELLINGS, begun, spelled
from trex.clevr_models.chat.token_mass import LABELS, UNSEEN, answer_masses
from trex.clevr_models.interface.answers import ANSWERS, UNPARSED
from trex.foundation.errors import ModelError
from trex.inference.statistics.proportion import clopper_pearson

ROUNDING = 1e-9


def tokens(replies: Replies, top: int = 20) -> list[Token]:
    return [Token.model_validate(entry) for entry in entries(replies, top)]


def named(row: Sequence[float]) -> dict[str, float]:
    return {label: float(share) for label, share in zip(LABELS, row, strict=True) if share > 1e-15}


def masses(replies: Replies, top: int = 20) -> dict[str, float]:
    return named(answer_masses(tokens(replies, top)).tolist())


def agree(found: Mapping[str, float], planted: Mapping[str, float], error: float) -> bool:
    """Whether every answer's probability is within the stated error: as planted, or too low by `error` at most."""
    return all(
        planted.get(answer, 0.0) - error - ROUNDING
        <= found.get(answer, 0.0)
        <= planted.get(answer, 0.0) + ROUNDING
        for answer in ANSWERS
    )


VARIANTS = {
    ("red",): 0.3, (" red",): 0.2, (" Red",): 0.1, ("RED", "."): 0.05, ("blue",): 0.2, ("grey",): 0.05, ("gray",): 0.02,
    ("The", " cube"): 0.08,
}  # fmt: skip
SPLIT = {
    ("cyl", "inder"): 0.4, ("cyl", "inders"): 0.1, ("cyl", "inder", "."): 0.1, ("sp", "here"): 0.3,
    ("cub", "oid"): 0.02, ("c", "yan"): 0.05, ("s", "mall"): 0.03,
}  # fmt: skip
DIGITS = {("1",): 0.3, ("1", "0"): 0.4, ("2",): 0.1, ("two",): 0.05, ("1", "st"): 0.15}


@pytest.mark.parametrize(
    ("replies", "planted"),
    [
        (VARIANTS, {"red": 0.65, "blue": 0.2, "gray": 0.07, UNPARSED: 0.08}),
        # "cub" leaves the path and begins only cube; "c" and "s" begin several answers
        (SPLIT, {"cylinder": 0.6, "sphere": 0.3, "cube": 0.02, UNPARSED: 0.08}),
        (DIGITS, {"1": 0.3, "10": 0.4, "2": 0.15, UNPARSED: 0.15}),
        (
            {("Yes", ",", " there"): 0.6, ("no",): 0.3, ("red", ",", " blue"): 0.1},
            {"yes": 0.6, "no": 0.3, "red": 0.1},
        ),
        ({("I", " cannot"): 1.0}, {UNPARSED: 1.0}),
    ],
    ids=["case and spaces", "split words", "split digits", "sentences", "no answer"],
)
def test_a_planted_distribution_is_recovered_exactly(replies: Replies, planted: dict[str, float]) -> None:
    assert masses(replies) == pytest.approx(planted, abs=ROUNDING)


def test_answers_whose_tokens_carry_a_space_would_be_missed_without_merging() -> None:
    """The planted bug: only the bare token counts."""
    bare = {logprob.token: math.exp(logprob.logprob) for logprob in tokens(VARIANTS)[0].top_logprobs}
    planted = {"red": 0.65, "blue": 0.2, "gray": 0.07}
    assert agree(masses(VARIANTS), planted, 0.0) and not agree(bare, planted, 0.0)


WIDE = (
    {(answer,): 0.02 for answer in ANSWERS}
    | {("red",): 0.21, ("blue",): 0.13}
    | {(f"w{i}",): 0.01 for i in range(14)}
)


def test_a_reply_that_may_go_on_is_not_claimed_if_no_end_is_listed() -> None:
    """Planted bug: all of "1" counted as 1, although "10" took .38 of it, and the stated error was 0."""
    replies: Replies = {("1",): 0.57, ("1", "0"): 0.38, ("2",): 0.05}
    planted = {"1": 0.57, "10": 0.38, "2": 0.05}
    assert masses(replies) == pytest.approx(planted)  # where the end is listed, it is exact
    without = [Token.model_validate(entry) for entry in entries(replies, 20, lists_end=False)]
    found = named(answer_masses(without).tolist())
    assert found == pytest.approx({UNSEEN: 0.95, "2": 0.05})
    assert agree(found, planted, found[UNSEEN])
    assert not agree({"1": 0.95, "2": 0.05}, planted, 0.0)
    for reply in ("red", "10", "Yes", "one", "1."):  # these are not the beginning of another answer
        alone = [Token.model_validate(entry) for entry in entries({(reply,): 1.0}, 20, lists_end=False)]
        assert named(answer_masses(alone).tolist()) == {spelled(reply): 1.0}


def test_what_the_list_of_alternatives_cuts_off_bounds_the_error() -> None:
    assert math.fsum(WIDE.values()) == pytest.approx(1.0)
    planted = {reply[0]: share for reply, share in WIDE.items() if reply[0] in ANSWERS}
    found = masses(WIDE)
    assert found[UNSEEN] == pytest.approx(1 - 0.34 - 18 * 0.02) and len(found) == 21
    assert agree(found, planted, found[UNSEEN])
    assert not agree(found, planted, 0.0)  # taken as exact
    seen = 1 - found[UNSEEN]
    spread = {
        answer: share / seen for answer, share in found.items()
    }  # the planted bug: a wrong normalization
    assert not agree(spread, planted, found[UNSEEN])


def test_letters_that_several_answers_begin_with_bound_the_error_of_each() -> None:
    planted = {"cylinder": 0.6, "sphere": 0.3, "cyan": 0.05, "small": 0.03}
    found = {answer: share for answer, share in masses(SPLIT).items() if answer != "cube"}
    assert agree(found, planted, found[UNPARSED]) and not agree(found, planted, 0.0)


def test_an_alternative_counts_as_it_stands_although_it_may_go_on() -> None:
    """The stated limit: what follows an alternative cannot be seen, so "1." that would become "1.5" counts as 1."""
    assert masses({("1",): 0.6, ("1", ".", "5"): 0.4}) == pytest.approx({"1": 1.0})
    assert masses({("1",): 0.4, ("1", ".", "5"): 0.6}) == pytest.approx({"1": 0.4, UNPARSED: 0.6})


def test_a_list_that_is_shorter_than_asked_for_leaves_more_unseen() -> None:
    assert masses({("red",): 0.7, ("blue",): 0.3}, top=0) == pytest.approx({"red": 0.7, UNSEEN: 0.3})
    assert masses({("red",): 0.7, ("blue",): 0.3}, top=1) == pytest.approx({"red": 0.7, UNSEEN: 0.3})


@given(
    st.dictionaries(
        st.lists(
            st.sampled_from(["red", " ", "1", "0", "cyl", "inder", ".", "\n", "Yes", ","]), max_size=4
        ).map(tuple),
        st.integers(1, 100),
        min_size=1,
        max_size=30,
    ),
    st.integers(0, 20),
)
def test_rows_are_probabilities_whatever_the_model_says(
    weights: dict[tuple[str, ...], int], top: int
) -> None:
    total = sum(weights.values())
    row = answer_masses(tokens({reply: weight / total for reply, weight in weights.items()}, top))
    assert row.shape == (30,) and row.min() >= 0 and abs(row.sum() - 1) < 1e-12


def test_probabilities_above_1_are_refused() -> None:
    listed = [
        Alternative(token="red", logprob=math.log(0.9)),
        Alternative(token="blue", logprob=math.log(0.8)),
    ]
    with pytest.raises(ModelError, match=r"add up to 1\.7"):
        answer_masses([Token(token="red", logprob=math.log(0.9), top_logprobs=listed)])


def test_a_token_that_ends_the_reply_is_no_text() -> None:
    place = Token(token="red", logprob=0.0, top_logprobs=[Alternative(token="red", logprob=0.0)])
    end = Token(token=END, logprob=0.0, top_logprobs=[Alternative(token=END, logprob=0.0)])
    assert named(answer_masses([place, end]).tolist()) == {"red": 1.0}
    assert named(answer_masses([]).tolist()) == {UNPARSED: 1.0}


@pytest.mark.parametrize("answer", ANSWERS)
def test_each_answer_spells_itself(answer: str) -> None:
    for text in (answer, f" {answer.upper()}", f'"{answer}".', f"**{answer}**\n", f"{answer}. It is."):
        assert spelled(text) == answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "red and blue",
        "1.5",
        "1,000",
        "3-4",
        "-1",
        "11",
        "01",
        "the cube",
        "reddish",
        "a",
        "nothing",
        "red, blue",
    ],
)
def test_what_is_not_exactly_one_answer_is_none(text: str) -> None:
    assert spelled(text) is None


def test_only_letters_that_one_answer_begins_with_count_as_begun() -> None:
    assert begun(" Cyl") == "cylinder" and begun("sp") == "sphere" and begun("ti") == "small"
    assert [begun(text) for text in ("c", "gr", "s", "b", "p", "t", "x", "cu be", "")] == [None] * 9
    for spelling in SPELLINGS:  # a proper beginning is never given to another answer
        for end in range(1, len(spelling)):
            assert begun(spelling[:end]) in (None, SPELLINGS[spelling], SPELLINGS.get(spelling[:end]))


ALPHA = 1e-5


def test_shares_of_samples_recover_a_planted_probability_within_the_interval() -> None:
    rng = np.random.default_rng(7)
    for planted in (0.02, 0.5, 0.9):
        n = 500
        drawn = rng.random(n) < planted
        row = token_mass.answer_shares(["red" if hit else "Blue." for hit in drawn])
        red = float(row[token_mass.SAMPLED_LABELS.index("red")])
        low, high = clopper_pearson(int(drawn.sum()), n, 1 - ALPHA)
        assert low <= planted <= high and abs(red - drawn.mean()) < 1 / n  # smoothing moves it by less
        assert not abs(drawn.mean() - planted) < ROUNDING  # the planted bug: shares taken as exact


def test_samples_that_agree_are_not_certain() -> None:
    """The planted bug, counts divided by n, gives 1 for 20 equal samples, and a model with .9 does so often."""
    row = token_mass.answer_shares(["red"] * 20)
    red = row[token_mass.SAMPLED_LABELS.index("red")]
    assert red == pytest.approx((20 + 1 / 29) / 21) and red < 0.96
    assert row.min() == pytest.approx(1 / 29 / 21) and row.sum() == pytest.approx(1.0)
    assert clopper_pearson(20, 20)[0] < 0.9 and 0.9**20 > 0.1


def test_samples_without_an_answer_are_counted_as_such() -> None:
    row = token_mass.answer_shares(["red", "I cannot see it", "", "red."])
    assert row[token_mass.SAMPLED_LABELS.index(UNPARSED)] == pytest.approx((2 + 1 / 29) / 5)
