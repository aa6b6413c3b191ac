"""A model that writes before it answers is cut at 8 tokens: `trex check` and `trex find` say so."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from tests.running.command_line import trex_done
from tests.running.runs import QUERY, write_query
from tests.serving.chat_shapes import CUBES, Answer, Shape, reply, shaped_server, token

THOUGHT = [token(text) for text in ("Okay", ",", " the", " user")]
SHAPES: dict[str, Answer] = {
    "thoughts apart": reply("", THOUGHT, "length", reasoning_content="Okay, the user"),
    "thoughts in the text": reply(
        "<think>\nOkay", [token(text) for text in ("<think>", "\n", "Okay")], "length"
    ),
    "thoughts apart, said to be whole": reply("", THOUGHT, "stop", reasoning_content="Okay, the user"),
    "nothing": reply(None, [], "length"),
    "an answer that is no answer yet": reply("2 or", [token("2"), token(" or")], "length"),
    "thoughts that begin with an answer": reply(
        None,
        [token("2", math.log(0.6), [("3", math.log(0.4))]), token(" cubes")],
        "length",
        reasoning="2 cubes",
    ),
}


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def always(answer: Answer) -> Shape:
    return lambda _: answer


@pytest.mark.parametrize("samples", [0, 3])
@pytest.mark.parametrize("name", SHAPES)
def test_a_reply_that_is_cut_before_any_answer_is_no_answer_and_is_said(name: str, samples: int) -> None:
    with shaped_server(always(SHAPES[name])) as server:
        shares = server.shares(samples)
        assert max(shares, key=lambda answer: shares[answer]) == "<unparsed>"
        assert not {"2", "3"} & set(shares)
        (note,) = server.model(samples).bind(CUBES).notes  # type: ignore[attr-defined]
    assert "<unparsed>" in note and "cut at 8 tokens before any answer" in note and "enable_thinking" in note


def test_check_and_find_warn(tmp_path: Path) -> None:
    query = write_query(tmp_path, QUERY.replace('name = "fake"', 'name = "openai:m"'))
    few = ("--set", "search.steps=0", "--set", "search.prior_scenes=4")
    with shaped_server(always(SHAPES["thoughts apart"])) as server:
        checked = trex_done("check", query, "--endpoint", server.url)
        warned = json.loads(trex_done("check", query, "--endpoint", server.url, "--json").stdout)["warnings"]
        found = trex_done(
            "find", query, "--endpoint", server.url, "--out", tmp_path / "run", "--no-large", *few
        )
    assert "cut at 8 tokens" in checked.stdout and "cut at 8 tokens" in warned[0]
    assert "replies cut before any answer" in checked.stderr
    assert "warning: the model does not answer" in found.stderr and "cut at 8 tokens" in found.stderr
    assert "The model seldom answers" in found.stdout
    assert "The model seldom answers" in (tmp_path / "run" / "report.html").read_text()


def test_a_model_that_answers_is_not_warned_of(tmp_path: Path) -> None:
    query = write_query(tmp_path, QUERY.replace('name = "fake"', 'name = "openai:m"'))
    with shaped_server(always(reply("2", [token("2"), token("</s>")]))) as server:
        checked = trex_done("check", query, "--endpoint", server.url)
    assert "warning" not in checked.output and "cut" not in checked.output
