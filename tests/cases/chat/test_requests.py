"""Fields that servers refuse are left out or renamed, and the identity says so; fields of the user's own are sent."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import refused, trex, trex_done
from tests.running.runs import QUERY, write_query
from tests.serving.chat_shapes import CUBES, GOOD, Answer, Shape, Shaped, refusal, shaped_server, shares
from trex.clevr_models.adapters.http_exchange import StatusError
from trex.clevr_models.chat.reply import NoLogProbsError
from trex.foundation.errors import InputError, ModelError
from trex.foundation.json_fields import Json

SECRET = "sk-planted-in-the-environment"


def without(field: str, message: str, **more: object) -> Shape:
    return lambda request: refusal(message, **more) if field in request else GOOD


def few(most: int, message: str) -> Shape:
    return lambda request: refusal(message) if request.get("top_logprobs", 0) > most else GOOD  # type: ignore[operator]


NEW_LENGTH = "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead."
USE_NEW = "Unsupported parameter: max_tokens; use max_completion_tokens"
PACKED = json.dumps({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]})
SHAPES: dict[str, tuple[Shape, int, str]] = {
    "max_tokens": (without("max_tokens", NEW_LENGTH, param="max_tokens"), 0, ""),
    "max_tokens, samples": (without("max_tokens", USE_NEW), 2, ""),
    "top 5": (few(5, "top_logprobs must be at most 5"), 0, "top_logprobs 5"),
    "top 5 of vLLM": (
        few(5, "Requested sample logprobs of 20, which is greater than max allowed: 5"), 0, "top_logprobs 5",
    ),
    "a range": (few(10, "Invalid value for 'top_logprobs': must be between 0 and 10."), 0, "top_logprobs 10"),
    "below": (few(4, "top_logprobs must be less than 5"), 0, "top_logprobs 4"),
    "too many": (few(5, "top_logprobs is too large"), 0, "top_logprobs 5"),
    "temperature": (
        lambda r: refusal("temperature 0 is not supported with this model") if r.get("temperature") == 0 else GOOD,
        0, "no temperature",
    ),
    "temperature, samples": (
        without("temperature", "Unsupported value: 'temperature' does not support 1.0", param="temperature"),
        2, "no temperature",
    ),
    "both at once": (
        lambda r: refusal("`temperature` and `top_p` cannot both be specified") if "top_p" in r else GOOD,
        0, "no top_p",
    ),
    "FastAPI": (
        lambda r: (422, {"detail": [{"loc": ["body", "top_p"], "msg": "Extra inputs are not permitted", "input": 1}]})
        if "top_p" in r else GOOD,
        0, "no top_p",
    ),
    "seed": (without("seed", "seed: Extra inputs are not permitted"), 2, "no seed"),
    "a reason that a proxy has packed into a text": (
        lambda r: (422, {"object": "error", "message": PACKED}) if "seed" in r else GOOD, 2, "no seed",
    ),
    "inside text generation inference": (
        lambda r: (422, {"error": "`top_n_tokens` must be >= 0 and <= 5. Given: 20"})
        if r.get("top_logprobs", 0) > 5 else GOOD,  # type: ignore[operator]
        0, "top_logprobs 5",
    ),
    "a least length": (
        lambda r: refusal("max_tokens must be at least 16") if r["max_tokens"] < 16 else GOOD,  # type: ignore[operator]
        0, "16 tokens",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_a_field_that_a_server_refuses_is_left_out_or_renamed_and_the_identity_says_so(name: str) -> None:
    shape, samples, text = SHAPES[name]
    with shaped_server(shape) as server:
        found = server.shares(samples)
        number = len(server.requests)
        assert max(found, key=lambda answer: found[answer]) == "2"
        identity = server.model(samples).bind(CUBES).identity  # type: ignore[attr-defined]
        assert len(server.requests) == number  # what was learnt, and what was answered, is at hand
    plain, changed = f"{samples} " if samples else "log probabilities ", f", {text} "
    assert (changed in identity) if text else (plain in identity)


def test_what_was_learnt_holds_for_the_next_requests() -> None:
    with shaped_server(few(5, "top_logprobs must be at most 5")) as server:
        server.shares()
        tops = [request.get("top_logprobs") for request in server.requests]
        assert tops.count(20) <= 2 and tops[-1] == 5  # two probe pictures are asked about side by side
        again = server.model()
        again.bind(CUBES)
        again.answerer(np.zeros((1, 8, 12, 3), np.float32), CUBES)
        assert [request.get("top_logprobs") for request in server.requests][len(tops) :] == [5]


def test_a_server_without_log_probabilities_is_named_with_its_reason() -> None:
    def shape(request: Json) -> Answer:
        if "logprobs" in request:
            return refusal("You are not allowed to request logprobs from this model", 403)
        return 200, {"choices": [{"message": {"content": str(request["seed"])}, "finish_reason": "stop"}]}

    with shaped_server(shape) as server:
        with pytest.raises(NoLogProbsError, match=r"403: You are not allowed .*; set \[model\] samples"):
            server.shares()
        assert server.shares(2)  # the advice works


def test_a_server_that_refuses_both_fields_of_log_probabilities_is_asked_no_further() -> None:
    """As Mistral: every field that is too many is named, in FastAPI's form below `message`."""
    names = ("top_logprobs", "logprobs")
    problems = [
        {"loc": ["body", name], "msg": "Extra inputs are not permitted", "input": 1} for name in names
    ]
    refused = 422, {"object": "error", "message": {"detail": problems}, "param": None}
    with shaped_server(lambda request: refused if "logprobs" in request else GOOD) as server:
        with pytest.raises(NoLogProbsError, match=r"top_logprobs: Extra inputs .*; set \[model\] samples"):
            server.shares()
        assert sum("logprobs" in request for request in server.requests) <= 2  # both probe pictures


@pytest.mark.parametrize("samples", [0, 2])
def test_a_reason_that_names_no_field_is_shown_without_key_and_control_characters(
    samples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    reason = (
        f"This model \x1b[2J\u202e does not take pictures; your key is {SECRET}{SECRET.upper()} \x00 "
        + "x" * 999
    )
    with pytest.raises(ModelError) as caught:
        shares(refusal(reason), samples)
    text = str(caught.value)
    assert "status 400: This model [2J does not take pictures; your key is [key]" in text
    assert text.isprintable() and SECRET not in text and SECRET.upper() not in text and len(text) < 500
    assert "samples" not in text


def test_a_field_that_is_refused_after_the_identity_was_stated_ends_the_run() -> None:
    refused: list[str] = []

    def shape(request: Json) -> Answer:
        return refusal("temperature is not supported") if refused and "temperature" in request else GOOD

    with shaped_server(shape) as server:
        bound = server.model().bind(CUBES)
        refused.append("now")
        with pytest.raises(ModelError, match="temperature is not supported; it took this before"):
            bound.log_probs(np.zeros((1, 8, 12, 3), np.float32))
        number = len(server.requests)
        new = server.model().bind(CUBES)  # asks again: the replies at hand are those to other requests
        assert len(server.requests) == number + 2 and ", no temperature " in new.identity  # type: ignore[attr-defined]


# --- fields of the user's own, and the one order of picture and text


@pytest.fixture
def query(tmp_path: Path) -> Path:
    """The file of a query to a chat server."""
    return write_query(tmp_path, QUERY.replace('name = "fake"', 'name = "openai:m"'))


def test_the_request_has_the_picture_first_and_does_not_cut_the_distribution() -> None:
    with shaped_server(lambda _: GOOD) as server:
        server.shares()
        server.shares(2)
    for request in server.requests:
        kinds = [part["type"] for part in request["messages"][0]["content"]]  # type: ignore[index]
        assert kinds == ["image_url", "text"] and request["top_p"] == 1


def test_further_fields_are_sent_and_belong_to_the_identity(query: Path, tmp_path: Path) -> None:
    options = ("--set", "model.extra={top_k = 0, chat_template_kwargs = {enable_thinking = false}}")
    with shaped_server(lambda _: GOOD) as server:
        plain = server.model().bind(CUBES).identity  # type: ignore[attr-defined]
        trex_done("check", query, "--endpoint", server.url, *options)
        sent = server.requests[-1]
        assert sent["top_k"] == 0 and sent["chat_template_kwargs"] == {"enable_thinking": False}
        extra = json.dumps({"chat_template_kwargs": {"enable_thinking": False}, "top_k": 0})
        assert server.model(extra=extra).bind(CUBES).identity != plain  # type: ignore[attr-defined]
        number = len(server.requests)
        long = [json.dumps({"a": "x" * 500 + end}) for end in "12"]
        text, two = (server.model(extra=extra).bind(CUBES).identity for extra in long)  # type: ignore[attr-defined]
        assert (
            text != two and len(server.requests) == number + 4
        )  # two probe pictures each: no reply is shared
        trex_done(
            "find", query, "--endpoint", server.url, *options, "--out", tmp_path / "run", "--no-large",
            "--set", "search.steps=0", "--set", "search.prior_scenes=2",
        )  # fmt: skip
    recorded = json.loads((tmp_path / "run" / "run.json").read_text())
    assert recorded["query"]["model"]["extra"]["top_k"] == 0


@pytest.mark.parametrize(
    "name", ["model", "messages", "stream", "n", "max_tokens", "max_completion_tokens", "temperature", "top_p",
             "seed", "logprobs", "top_logprobs"],
)  # fmt: skip
def test_a_field_that_trex_sets_is_refused_before_any_request(name: str, query: Path) -> None:
    with shaped_server(lambda _: GOOD) as server:
        done = trex("check", query, "--endpoint", server.url, "--set", f"model.extra.{name}=1")
        refused(done, f"[model] extra has {name}, which trex sets itself")
        assert not server.requests


def test_further_fields_belong_to_chat_servers_and_are_bounded(query: Path) -> None:
    refused(
        trex("check", query, "--model", "fake", "--set", "model.extra.top_k=0"),
        "extra belongs to models 'openai:MODEL'",
    )
    refused(trex("check", query, "--set", f"model.extra.a={'x' * 3000}"), "the limit is 2000 characters")
    refused(trex("check", query, "--set", "model.extra.day=2026-01-01"), "model.extra")
    with pytest.raises(InputError, match="must be a table"):
        Shaped("http://localhost:9/v1").model(extra="[1]")


def test_a_further_field_that_the_server_refuses_is_the_users_to_mend() -> None:
    """Planted: the reason lists what is allowed, and temperature was left out for it."""
    reason = "Unrecognized request argument supplied: min_p; allowed are temperature, top_p and seed"
    with (
        shaped_server(lambda request: refusal(reason) if "min_p" in request else GOOD) as server,
        pytest.raises(StatusError, match="argument supplied: min_p"),
    ):
        server.model(extra='{"min_p": 0}').bind(CUBES)
    assert all("temperature" in request for request in server.requests)
