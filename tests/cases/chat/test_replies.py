"""What servers reply, and what is read of it: tokens, ends, thoughts, faults, and samples that do not differ."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.running.command_line import trex_done
from tests.running.runs import QUERY, write_query
from tests.serving.chat_shapes import CUBES, GOOD, Answer, refusal, reply, shaped_server, shares, token
from trex.clevr_models.chat.reply import NoLogProbsError
from trex.foundation.errors import ModelError
from trex.foundation.json_fields import Json

SURE = [token("2", 0.0), token("</s>", 0.0)]
TORN = [token("2", math.log(0.6), [("3", math.log(0.4))]), token("</s>", 0.0)]
ENDS = (
    "<|im_end|>", "</s>", "<end_of_turn>", "<|eot_id|>", "<end_of_utterance>", "<turn|>", "<｜end▁of▁sentence｜>",
    "<eos>", "<|user|>", "[EOS]", "<|endoftext|>", "<|return|>", "<|END_OF_TURN_TOKEN|>", "<unheard of>", "",
)  # fmt: skip


def tokens(*texts: str) -> list[Json]:
    return [token(text) for text in texts]


# --- tokens and ends


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("word", ["red", "1"])
def test_a_reply_that_ends_with_the_models_own_token_is_the_answer(word: str, end: str) -> None:
    assert shares(reply(word, tokens(word, end)))[word] == pytest.approx(math.exp(-0.02))


@pytest.mark.parametrize(
    ("content", "listed"),
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
def test_tokens_are_read_as_they_are_spelled(content: str, listed: list[str]) -> None:
    assert shares(reply(content, tokens(*listed)))["cube"] > 0.9


def test_alternatives_are_read_as_they_are_spelled_too() -> None:
    first = token("Ġ1", math.log(0.6), [("Ġ2", math.log(0.3)), ("▁two", math.log(0.1))])
    second = token("0", math.log(0.7), [("<turn|>", math.log(0.3))])  # or the reply would have ended with "1"
    found = shares(reply("10", [first, second, token("<turn|>", 0.0)]))
    assert found == pytest.approx({"10": 0.42, "1": 0.18, "2": 0.4})


def test_null_for_no_alternatives_is_read_as_none() -> None:
    bare = {"token": "2", "logprob": -0.1, "top_logprobs": None}
    found = shares(reply("2", [bare, token("</s>", 0.0)]))
    assert found == pytest.approx({"2": math.exp(-0.1), "<unseen>": 1 - math.exp(-0.1)})


def test_a_token_that_was_cut_off_is_no_end() -> None:
    """Planted: a reply "1" that was cut by its bound may have gone on to "10"."""
    assert "1" in shares(reply("1", tokens("1", " "), "length"))  # "1 " cannot become "10"
    assert "1" not in shares(reply("1", tokens("1"), "length"))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (reply("1", tokens("1", "\ufffd"), "length"), None),  # a part of a letter is no end
        # As vLLM lists them with --return-tokens-as-token-ids: planted as <unparsed>, silently.
        (reply("2", tokens("token_id:17", "token_id:2")), "do not spell its reply"),
    ],
)
def test_tokens_that_do_not_spell_the_reply_are_refused(answer: Answer, message: str | None) -> None:
    with pytest.raises(ModelError, match=message):
        shares(answer)


@pytest.mark.parametrize("finish", ["stop", "STOP", None, "eos_token", "end_turn"])
def test_a_reply_that_ended_well_is_counted(finish: object) -> None:
    assert shares(reply("2", SURE, finish)) == pytest.approx({"2": 1.0})


# --- thoughts, and replies that are cut


def test_the_tokens_of_thoughts_before_the_answer_are_not_read_as_answers() -> None:
    thought = token("2", math.log(0.9), [("3", math.log(0.1))])
    listed = [thought, token("</think>", 0.0), token("4", math.log(0.8)), token("<|im_end|>", 0.0)]
    found = shares(reply("4", listed, reasoning_content="2"))
    assert found == pytest.approx({"4": 0.72, "<unparsed>": 0.1, "<unseen>": 0.18})


EMPTY = "<think>\n\n</think>\n\n"


@pytest.mark.parametrize(
    ("answer", "samples"),
    [
        (reply(f"{EMPTY}2", tokens("<think>", "\n\n", "</think>", "\n\n", "2", "<|im_end|>")), 0),
        (reply(f"{EMPTY}2", None), 3),
        (reply("<think>3</think>2<|im_end|>", None), 3),
    ],
)
def test_the_answer_after_thoughts_in_the_text_is_the_answer(answer: Answer, samples: int) -> None:
    """As Qwen 3 writes it after /no_think, if the server has no parser for its thoughts."""
    with shaped_server(lambda _: answer) as server:
        found = server.shares(samples)
        assert max(found, key=lambda answer: found[answer]) == "2"
        assert not server.model(samples).bind(CUBES).notes  # type: ignore[attr-defined]


THOUGHT = tokens("Okay", ",", " the", " user")
CUT: dict[str, Answer] = {
    "thoughts apart": reply("", THOUGHT, "length", reasoning_content="Okay, the user"),
    "thoughts in the text": reply("<think>\nOkay", tokens("<think>", "\n", "Okay"), "length"),
    "thoughts apart, said to be whole": reply("", THOUGHT, "stop", reasoning_content="Okay, the user"),
    "nothing": reply(None, [], "length"),
    "an answer that is no answer yet": reply("2 or", tokens("2", " or"), "length"),
    "thoughts that begin with an answer": reply(
        None, [token("2", math.log(0.6), [("3", math.log(0.4))]), token(" cubes")], "length", reasoning="2 cubes"
    ),
}  # fmt: skip


@pytest.mark.parametrize("samples", [0, 3])
@pytest.mark.parametrize("name", CUT)
def test_a_reply_that_is_cut_before_any_answer_is_no_answer_and_is_said(name: str, samples: int) -> None:
    with shaped_server(lambda _: CUT[name]) as server:
        found = server.shares(samples)
        assert max(found, key=lambda answer: found[answer]) == "<unparsed>"
        assert not {"2", "3"} & set(found)
        (note,) = server.model(samples).bind(CUBES).notes  # type: ignore[attr-defined]
    assert "<unparsed>" in note and "cut at 8 tokens before any answer" in note and "enable_thinking" in note


def test_a_cut_reply_is_said_to_be_as_long_as_it_was() -> None:
    """A server may insist on more than the 8 tokens that are asked for at first."""

    def shape(request: Json) -> Answer:
        if request["max_tokens"] == 8:
            return refusal("max_tokens must be at least 16")
        return reply("<think>\nOkay", None, "length")

    with shaped_server(shape) as server:
        (note,) = server.model(3).bind(CUBES).notes  # type: ignore[attr-defined]
    assert "cut at 16 tokens" in note


def test_check_and_find_warn_of_replies_without_an_answer(tmp_path: Path) -> None:
    query = write_query(tmp_path, QUERY.replace('name = "fake"', 'name = "openai:m"'))
    few = ("--set", "search.steps=0", "--set", "search.prior_scenes=4")
    with shaped_server(lambda _: CUT["thoughts apart"]) as server:
        where = ("--endpoint", server.url)
        checked = trex_done("check", query, *where)
        warned = json.loads(trex_done("check", query, *where, "--json").stdout)["warnings"]
        found = trex_done("find", query, *where, "--out", tmp_path / "run", "--no-large", *few)
    assert "cut at 8 tokens" in checked.stdout and "cut at 8 tokens" in warned[0]
    assert "replies cut before any answer" in checked.stderr
    assert "warning: the model does not answer" in found.stderr and "cut at 8 tokens" in found.stderr
    assert "The model seldom answers" in found.stdout
    assert "The model seldom answers" in (tmp_path / "run" / "report.html").read_text()
    with shaped_server(lambda _: reply("2", tokens("2", "</s>"))) as server:
        checked = trex_done("check", query, "--endpoint", server.url)
    assert "warning" not in checked.output and "cut" not in checked.output


# --- replies that are no answer


def whole(**more: object) -> Answer:
    """A good reply with more at its top."""
    status, found = GOOD
    assert isinstance(found, dict)
    return status, found | more


def choice(**more: object) -> Answer:
    """A good reply with more in its choice."""
    status, found = GOOD
    assert isinstance(found, dict)
    return status, {"choices": [found["choices"][0] | more]}


FAULTS: dict[str, tuple[Answer, str]] = {
    "llama.cpp while it loads": ((200, {"error": {"message": "Loading model"}}), "Loading model"),
    "an error beside an answer": (whole(error={"message": "upstream\x1b[0m failed"}), r"upstream\[0m failed"),
    "OpenRouter's error in a choice": (
        choice(error={"code": 502, "message": "Provider disconnected"}, finish_reason="error"),
        "Provider disconnected",
    ),
    "vLLM's error of old": ((200, {"object": "error", "message": "out of memory"}), "out of memory"),
    "FastAPI's": ((200, {"detail": "no such model"}), "no such model"),
    "ended by an error": (choice(finish_reason="error"), "'error'"),
    "aborted": (choice(finish_reason="abort"), "'abort'"),
    "DeepSeek under load": (choice(finish_reason="insufficient_system_resource"), "insufficient"),
    "Zhipu's network": (choice(finish_reason="network_error"), "network_error"),
    "a tool": (reply(None, [], "tool_calls", tool_calls=[{"type": "function"}]), "calls a tool"),
    "a tool, says stop": (reply("", [], "stop", tool_calls=[{"type": "function"}]), "calls a tool"),
    "filtered": (choice(finish_reason="content_filter"), "refuses"),
    "filtered, in capitals": (choice(finish_reason="CONTENT_FILTER"), "refuses"),
    "parts of Mistral's": (reply([{"type": "text", "text": "2"}], SURE), "content"),
    "an object": (reply({"answer": "2"}, SURE), "content"),
    "a number": (reply(2, SURE), "content"),
    "why it ended as an object": (choice(finish_reason={"type": "abort"}), "finish_reason"),
}


@pytest.mark.parametrize("samples", [0, 2])
@pytest.mark.parametrize("name", FAULTS)
def test_a_reply_that_is_no_answer_is_not_counted_and_not_stored(
    name: str, samples: int, tmp_path: Path
) -> None:
    answer, message = FAULTS[name]
    with pytest.raises(ModelError, match=message) as caught:
        shares(answer, samples)
    assert str(caught.value).isprintable() and not list((tmp_path / "cache").rglob("*.json"))


# --- samples


def sampling(words: Callable[[int], str], tokens: list[Json] | None) -> Callable[[Json], Answer]:
    """A server whose samples are `words` of the seed; without tokens it gives no log probabilities."""

    def shape(request: Json) -> Answer:
        text = words(request["seed"]) if "seed" in request else "2"  # type: ignore[arg-type]
        return reply(text, tokens if "logprobs" in request else None)

    return shape


def test_samples_that_do_not_differ_although_the_model_is_torn_are_refused() -> None:
    with shaped_server(sampling(lambda _: "2", TORN)) as server:
        with pytest.raises(
            ModelError, match=r"to all 20 seeds, although .* of 0\.60 at most.*samples = 0.*min_p"
        ):
            server.model(20).bind(CUBES)
        assert server.shares()["2"] == pytest.approx(0.6)  # the advice works


def test_samples_of_a_sure_model_and_samples_that_differ_are_taken() -> None:
    assert shares(sampling(lambda _: "2", SURE), 20)["2"] > 0.9
    assert set(shares(sampling(lambda seed: "23"[seed % 2], None), 20)) == {"2", "3"}


@pytest.mark.parametrize("samples", [4, 7, 20])
def test_a_server_that_never_samples_is_not_asked_to(samples: int) -> None:
    """As `transformers serve`: the likeliest reply whatever the seed. Planted: few equal samples passed for sure."""
    with shaped_server(sampling(lambda _: "2", None)) as server:
        with pytest.raises(ModelError, match=r"even when asked for random words.*hf:"):
            server.model(samples).bind(CUBES)
        with pytest.raises(
            NoLogProbsError, match="no log probabilities, and the same reply whatever"
        ) as caught:
            server.model().bind(CUBES)
    assert "set [model] samples" not in str(caught.value)


def test_a_sure_model_that_does_sample_is_told_apart_from_a_server_that_does_not() -> None:
    """Planted: samples of a sure model are equal too."""

    def shape(request: Json) -> Answer:
        is_open = "random words" in request["messages"][0]["content"][1]["text"]  # type: ignore[index]
        return reply(f"lamp {request['seed']}" if is_open else "2", None)

    with shaped_server(lambda r: shape(r) if "seed" in r else reply("2", None)) as server:
        assert server.shares(20)["2"] > 0.9
        with pytest.raises(
            NoLogProbsError, match=r"set \[model\] samples in a query \(trex find --set model\.samples=20\)"
        ):
            server.model().bind(CUBES)
