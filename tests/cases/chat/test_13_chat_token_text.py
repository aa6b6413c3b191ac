"""Tokens as vocabularies write them, and the tokens with which models end a reply, whatever they are called."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.serving.chat_shapes import reply, shaped_server, token
from trex.foundation.errors import ModelError

ENDS = (
    "<|im_end|>", "</s>", "<end_of_turn>", "<|eot_id|>", "<end_of_utterance>", "<turn|>", "<｜end▁of▁sentence｜>",
    "<eos>", "<|user|>", "[EOS]", "<|endoftext|>", "<|return|>", "<|END_OF_TURN_TOKEN|>", "<unheard of>", "",
)  # fmt: skip


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path))


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("word", ["red", "1"])
def test_a_reply_that_ends_with_the_models_own_token_is_the_answer(word: str, end: str) -> None:
    with shaped_server(lambda _: reply(word, [token(word), token(end)])) as server:
        assert server.shares()[word] == pytest.approx(math.exp(-0.02))


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        ("cube", ["Ġcube", "<|im_end|>"]),
        ("cube", ["▁cube", "</s>"]),
        ("cube", ["▁cu", "be", "</s>"]),
        ("Cube.", ["▁Cube", ".", "<0x0A>", "</s>"]),
        ("cube\n", ["cube", "Ċ", "<turn|>"]),
        ("cube<|im_end|>", ["cube", "<|im_end|>"]),
        (" cube", [" cube", "\n", "<unheard of>", "<eos>"]),
    ],
)
def test_tokens_are_read_as_they_are_spelled(content: str, tokens: list[str]) -> None:
    with shaped_server(lambda _: reply(content, [token(one) for one in tokens])) as server:
        assert server.shares()["cube"] > 0.9


def test_alternatives_are_read_as_they_are_spelled_too() -> None:
    first = token("Ġ1", math.log(0.6), [("Ġ2", math.log(0.3)), ("▁two", math.log(0.1))])
    second = token(
        "0", math.log(0.7), [("<turn|>", math.log(0.3))]
    )  # here the reply would have ended with "1"
    with shaped_server(lambda _: reply("10", [first, second, token("<turn|>", 0.0)])) as server:
        assert server.shares() == pytest.approx({"10": 0.42, "1": 0.18, "2": 0.4})


def test_a_token_that_was_cut_off_is_no_end() -> None:
    """Planted: a reply "1" that was cut by its bound may have gone on to "10"."""
    with shaped_server(lambda _: reply("1", [token("1"), token(" ")], "length")) as server:
        assert "1" in server.shares()  # "1 " cannot become "10"
    with shaped_server(lambda _: reply("1", [token("1")], "length")) as server:
        assert "1" not in server.shares()


def test_a_part_of_a_letter_behind_a_reply_that_was_cut_is_no_end() -> None:
    listed = [token("1"), token("\ufffd")]
    with shaped_server(lambda _: reply("1", listed, "length")) as server, pytest.raises(ModelError):
        server.shares()


def test_tokens_that_do_not_spell_the_reply_are_refused() -> None:
    """As vLLM lists them with --return-tokens-as-token-ids: planted as <unparsed>, silently."""
    tokens = [token("token_id:17"), token("token_id:2")]
    with (
        shaped_server(lambda _: reply("2", tokens)) as server,
        pytest.raises(ModelError, match="do not spell its reply"),
    ):
        server.shares()


def test_the_tokens_of_thoughts_before_the_answer_are_not_read_as_answers() -> None:
    thought = token("2", math.log(0.9), [("3", math.log(0.1))])
    listed = [thought, token("</think>", 0.0), token("4", math.log(0.8)), token("<|im_end|>", 0.0)]
    with shaped_server(lambda _: reply("4", listed, reasoning_content="2")) as server:
        assert server.shares() == pytest.approx({"4": 0.72, "<unparsed>": 0.1, "<unseen>": 0.18})
