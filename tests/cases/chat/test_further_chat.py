"""Further replies, refusals and limits of chat servers and web services, as their users reported them."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import refused, trex, trex_done
from tests.running.runs import QUERY, write_query
from tests.serving.chat_shapes import (
    CUBES,
    GOOD,
    Answer,
    Shaped,
    refusal,
    reply,
    shaped_server,
    token,
)
from trex.clevr_models.adapters.http_exchange import StatusError
from trex.clevr_models.adapters.http_model import HttpAnswerer
from trex.clevr_models.chat.reply import NoLogProbsError
from trex.foundation.errors import InputError, ModelError
from trex.foundation.json_fields import Json

SURE = [token("2", 0.0), token("</s>", 0.0)]
TORN = [token("2", math.log(0.6), [("3", math.log(0.4))]), token("</s>", 0.0)]


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TREX_MODEL_TOKEN"):
        monkeypatch.delenv(name, raising=False)


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


FAULTS: dict[str, tuple[Answer, type[ModelError], str]] = {
    "llama.cpp while it loads": ((200, {"error": {"message": "Loading model"}}), ModelError, "Loading model"),
    "an error beside an answer": (
        whole(error={"message": "upstream\x1b[0m failed"}), ModelError, r"upstream\[0m failed",
    ),
    "OpenRouter's error in a choice": (
        choice(error={"code": 502, "message": "Provider disconnected"}, finish_reason="error"),
        ModelError, "Provider disconnected",
    ),
    "vLLM's error of old": ((200, {"object": "error", "message": "out of memory"}), ModelError, "out of memory"),
    "FastAPI's": ((200, {"detail": "no such model"}), ModelError, "no such model"),
    "ended by an error": (choice(finish_reason="error"), ModelError, "'error'"),
    "aborted": (choice(finish_reason="abort"), ModelError, "'abort'"),
    "DeepSeek under load": (choice(finish_reason="insufficient_system_resource"), ModelError, "insufficient"),
    "Zhipu's network": (choice(finish_reason="network_error"), ModelError, "network_error"),
    "a tool": (
        reply(None, [], "tool_calls", tool_calls=[{"type": "function"}]), ModelError, "calls a tool",
    ),
    "a tool, says stop": (reply("", [], "stop", tool_calls=[{"type": "function"}]), ModelError, "calls a tool"),
    "filtered": (choice(finish_reason="content_filter"), ModelError, "refuses"),
    "filtered, in capitals": (choice(finish_reason="CONTENT_FILTER"), ModelError, "refuses"),
    "parts of Mistral's": (reply([{"type": "text", "text": "2"}], SURE), ModelError, "content"),
    "an object": (reply({"answer": "2"}, SURE), ModelError, "content"),
    "a number": (reply(2, SURE), ModelError, "content"),
    "why it ended as an object": (choice(finish_reason={"type": "abort"}), ModelError, "finish_reason"),
}  # fmt: skip


@pytest.mark.parametrize("samples", [0, 2])
@pytest.mark.parametrize("name", FAULTS)
def test_a_reply_that_is_no_answer_is_not_counted_and_not_stored(
    name: str, samples: int, tmp_path: Path
) -> None:
    answer, kind, message = FAULTS[name]
    with shaped_server(lambda _: answer) as server, pytest.raises(kind, match=message) as caught:
        server.shares(samples)
    assert str(caught.value).isprintable() and not list((tmp_path / "cache").rglob("*.json"))


@pytest.mark.parametrize("finish", ["stop", "STOP", None, "eos_token", "end_turn"])
def test_a_reply_that_ended_well_is_counted(finish: object) -> None:
    with shaped_server(lambda _: reply("2", SURE, finish)) as server:
        assert server.shares() == pytest.approx({"2": 1.0})


def test_null_for_no_alternatives_is_read_as_none() -> None:
    bare = {"token": "2", "logprob": -0.1, "top_logprobs": None}
    with shaped_server(lambda _: reply("2", [bare, token("</s>", 0.0)])) as server:
        assert server.shares() == pytest.approx({"2": math.exp(-0.1), "<unseen>": 1 - math.exp(-0.1)})


# --- fields of the user's own, and the one order of picture and text


def test_the_request_has_the_picture_first_and_does_not_cut_the_distribution() -> None:
    with shaped_server(lambda _: GOOD) as server:
        server.shares()
        server.shares(2)
    for request in server.requests:
        kinds = [part["type"] for part in request["messages"][0]["content"]]  # type: ignore[index]
        assert kinds == ["image_url", "text"] and request["top_p"] == 1


def test_further_fields_are_sent_and_belong_to_the_identity(tmp_path: Path) -> None:
    query = write_query(tmp_path, QUERY.replace('name = "fake"', 'name = "openai:m"'))
    options = ("--set", "model.extra={top_k = 0, chat_template_kwargs = {enable_thinking = false}}")
    with shaped_server(lambda _: GOOD) as server:
        plain = server.model().bind(CUBES).identity  # type: ignore[attr-defined]
        trex_done("check", query, "--endpoint", server.url, *options)
        sent = server.requests[-1]
        assert sent["top_k"] == 0 and sent["chat_template_kwargs"] == {"enable_thinking": False}
        extra = json.dumps({"chat_template_kwargs": {"enable_thinking": False}, "top_k": 0})
        assert server.model(extra=extra).bind(CUBES).identity != plain  # type: ignore[attr-defined]
        asked = len(server.requests)
        long = [json.dumps({"a": "x" * 500 + end}) for end in "12"]
        one, two = (server.model(extra=extra).bind(CUBES).identity for extra in long)  # type: ignore[attr-defined]
        assert one != two and len(server.requests) == asked + 4  # two probe pictures each: no reply is shared
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
def test_a_field_that_trex_sets_is_refused_before_any_request(name: str, tmp_path: Path) -> None:
    query = write_query(tmp_path, QUERY.replace('name = "fake"', 'name = "openai:m"'))
    with shaped_server(lambda _: GOOD) as server:
        done = trex("check", query, "--endpoint", server.url, "--set", f"model.extra.{name}=1")
        refused(done, f"[model] extra has {name}, which trex sets itself")
        assert not server.requests


def test_further_fields_belong_to_chat_servers_and_are_bounded(tmp_path: Path) -> None:
    query = write_query(tmp_path, QUERY.replace('name = "fake"', 'name = "openai:m"'))
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


def test_samples_that_do_not_differ_as_the_model_is_sure_are_taken() -> None:
    with shaped_server(sampling(lambda _: "2", SURE)) as server:
        assert server.shares(20)["2"] > 0.9


def test_samples_that_differ_are_taken() -> None:
    with shaped_server(sampling(lambda seed: "23"[seed % 2], None)) as server:
        assert set(server.shares(20)) == {"2", "3"}


def test_a_server_that_never_samples_is_not_asked_to(tmp_path: Path) -> None:
    """As `transformers serve`: no log probabilities, and the likeliest reply whatever the seed."""
    with shaped_server(sampling(lambda _: "2", None)) as server:
        with pytest.raises(ModelError, match=r"even when asked for random words.*hf:"):
            server.model(20).bind(CUBES)
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
        with pytest.raises(NoLogProbsError, match=r"set \[model\] samples, e\.g\. --set model\.samples=20"):
            server.model().bind(CUBES)


# --- what a web service says and takes


def service(most: int) -> tuple[Callable[[Json], Answer], list[int]]:
    """A service of two labels that takes at most so many bytes of pictures, counted in pictures."""
    sizes: list[int] = []

    def shape(request: Json) -> Answer:
        pictures = request["pictures"]
        assert isinstance(pictures, list)
        sizes.append(len(pictures))
        if len(pictures) > most:
            return 413, b"<html>413 Request Entity Too Large</html>"
        reds = [base64.b64decode(one)[-20] / 255 for one in pictures]
        return 200, {"labels": ["no", "yes"], "probabilities": [[1 - red, red] for red in reds]}

    return shape, sizes


def pictures(n: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(3).random((n, 8, 12, 3)).astype(np.float32)


@pytest.mark.parametrize("most", [1, 3, 7, 32])
def test_a_service_that_finds_a_request_too_large_gets_smaller_ones(most: int) -> None:
    shape, sizes = service(most)
    with shaped_server(shape) as server:
        asked = HttpAnswerer(server.url, waits_s=())
        rows = asked(pictures(20), CUBES)
        first = len(sizes)
        again = asked(pictures(20), CUBES)
    one_by_one = service(99)
    with shaped_server(one_by_one[0]) as server:
        plain = HttpAnswerer(server.url, waits_s=())(pictures(20), CUBES)
    assert np.array_equal(rows, plain) and np.array_equal(again, plain)  # each picture its own row, in order
    assert max(sizes[first:]) <= most  # what was learnt holds


def test_a_service_that_does_not_take_one_picture_is_named() -> None:
    shape, sizes = service(0)
    with (
        shaped_server(shape) as server,
        pytest.raises(
            StatusError, match=r"413, although the request holds a single picture; .*client_max_body_size"
        ),
    ):
        HttpAnswerer(server.url, waits_s=())(pictures(5), CUBES)
    assert sizes == [5, 3, 2, 1]


def test_a_chat_server_that_does_not_take_one_picture_is_named() -> None:
    with (
        shaped_server(lambda _: refusal("Request too large", 413)) as server,
        pytest.raises(
            ModelError, match="413: Request too large, although the request holds a single picture"
        ),
    ):
        server.shares()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": "invalid pictures: \x1b[2J not PNG"}, r"status 422: invalid pictures: \[2J not PNG"),
        (
            {"detail": [{"loc": ["body", "program"], "msg": "field required"}]},
            "status 422: program: field required",
        ),
        (b"pictures must be JPEG", "status 422: pictures must be JPEG"),
        (b"<html>proxy</html>", "status 422$"),
        ({"error": "x" * 5000}, r"x{300}\.\.\.$"),
        ({"message": "token s3cret-of-the-service is not valid"}, r"token \[key\] is not valid"),
    ],
)
def test_the_reason_of_a_web_service_is_shown(body: object, said: str) -> None:
    with (
        shaped_server(lambda _: (422, body)) as server,
        pytest.raises(ModelError, match=said) as caught,
    ):
        HttpAnswerer(server.url, token="s3cret-of-the-service", waits_s=())(pictures(1), CUBES)
    assert str(caught.value).isprintable()


def test_the_reason_for_a_passing_failure_is_shown_too() -> None:
    with (
        shaped_server(lambda _: refusal("You exceeded your current quota", 429)) as server,
        pytest.raises(ModelError, match="status 429: You exceeded your current quota"),
    ):
        server.shares()
