"""Servers that refuse a field of the request are asked without it, their reason is shown, and the identity says so."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.serving.chat_shapes import CUBES, GOOD, Answer, Shape, refusal, shaped_server
from trex.clevr_models.chat.reply import NoLogProbsError
from trex.foundation.errors import ModelError
from trex.foundation.json_fields import Json

SECRET = "sk-planted-in-the-environment"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def without(field: str, message: str, **more: object) -> Shape:
    return lambda request: refusal(message, **more) if field in request else GOOD


def few(most: int, message: str) -> Shape:
    return lambda request: refusal(message) if request.get("top_logprobs", 0) > most else GOOD  # type: ignore[operator]


NEW_LENGTH = "Unsupported parameter: 'max_tokens' is not supported here. Use 'max_completion_tokens' instead."
USE_NEW = "Unsupported parameter: max_tokens; use max_completion_tokens"
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
    "a least length": (
        lambda r: refusal("max_tokens must be at least 16") if r["max_tokens"] < 16 else GOOD,  # type: ignore[operator]
        0, "16 tokens",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_a_field_that_a_server_refuses_is_left_out_or_renamed_and_the_identity_says_so(name: str) -> None:
    shape, samples, said = SHAPES[name]
    with shaped_server(shape) as server:
        shares = server.shares(samples)
        asked = len(server.requests)
        assert max(shares, key=lambda answer: shares[answer]) == "2"
        identity = server.model(samples).bind(CUBES).identity  # type: ignore[attr-defined]
        assert len(server.requests) == asked  # what was learnt, and what was answered, is at hand
    plain, changed = f"{samples} " if samples else "log probabilities ", f", {said} "
    assert (changed in identity) if said else (plain in identity)


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


def test_a_reason_that_a_proxy_has_packed_into_a_text_is_understood() -> None:
    inner = json.dumps({"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]})
    with shaped_server(
        lambda request: (422, {"object": "error", "message": inner}) if "seed" in request else GOOD
    ) as server:
        assert max(server.shares(2).items(), key=lambda item: item[1])[0] == "2"


@pytest.mark.parametrize("samples", [0, 2])
def test_a_reason_that_names_no_field_is_shown_without_key_and_control_characters(samples: int) -> None:
    reason = (
        f"This model \x1b[2J\u202e does not take pictures; your key is {SECRET}{SECRET.upper()} \x00 "
        + "x" * 999
    )
    with shaped_server(lambda _: refusal(reason)) as server, pytest.raises(ModelError) as caught:
        server.shares(samples)
    said = str(caught.value)
    assert "status 400: This model [2J does not take pictures; your key is [key]" in said
    assert said.isprintable() and SECRET not in said and SECRET.upper() not in said and len(said) < 500
    assert "samples" not in said


def test_a_field_that_is_refused_after_the_identity_was_stated_ends_the_run() -> None:
    refused: list[str] = []

    def shape(request: Json) -> Answer:
        return refusal("temperature is not supported") if refused and "temperature" in request else GOOD

    with shaped_server(shape) as server:
        bound = server.model().bind(CUBES)
        refused.append("now")
        with pytest.raises(ModelError, match="temperature is not supported; it took this before"):
            bound.log_probs(np.zeros((1, 8, 12, 3), np.float32))
        asked = len(server.requests)
        new = server.model().bind(CUBES)  # asks again: the replies at hand are those to other requests
        assert len(server.requests) == asked + 2 and ", no temperature " in new.identity  # type: ignore[attr-defined]
