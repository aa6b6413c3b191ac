"""A model behind a chat-completions server: what is sent, what comes back, and every fault by its name."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.serving.chat_server import Fault, Replies, chat_server, completion
from tests.serving.http_scripts import Waits
from trex.clevr_models.adapters.http_exchange import AbandonedError
from trex.clevr_models.adapters.http_model import png_base64
from trex.clevr_models.catalog import load_model
from trex.clevr_models.chat import token_mass
from trex.clevr_models.chat.answerer import ChatAnswerer
from trex.clevr_models.chat.chat_model import load_chat
from trex.clevr_models.chat.cost import Cost, Meter
from trex.clevr_models.chat.endpoint import BASE_URL, KEY
from trex.clevr_models.chat.fields import Fields, request_fields
from trex.clevr_models.chat.prompted_model import DEFAULT
from trex.clevr_models.chat.reply import NoLogProbsError, Said, reply_cost
from trex.clevr_models.chat.sender import RequestLimitError, Sender
from trex.clevr_models.chat.store import ReplyStore
from trex.clevr_models.interface.options import ModelOptions
from trex.clevr_models.interface.question import Question
from trex.foundation.errors import InputError, ModelError
from trex.worlds.fingerprint import model_fingerprint, weights_fingerprint

CUBES = Question("How many cubes are there?", ())
SECRET = "sk-planted-in-the-environment"
PROXIES = ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*PROXIES, KEY, BASE_URL):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))


def one_or_two(_: NDArray[np.uint8]) -> Replies:
    return {("1",): 0.75, (" Two",): 0.25}


def by_redness(picture: NDArray[np.uint8]) -> Replies:
    red = float(picture[..., 0].mean()) / 255
    return {("yes",): 0.1 + 0.8 * red, ("no",): 0.9 - 0.8 * red}


def pictures(n: int) -> NDArray[np.float32]:
    levels = np.linspace(0, 255, n).astype(np.uint8)
    return np.broadcast_to(levels[:, None, None, None] / np.float32(255), (n, 8, 12, 3)).astype(np.float32)


def answerer(
    folder: Path, url: str, samples: int = 0, key: str = "", most: int | None = None
) -> ChatAnswerer:
    sender = Sender(url, key, most, waits_s=(1.0, 4.0), sleep=Waits(), meter=Meter())
    return ChatAnswerer("planted", DEFAULT, samples, 4, sender, ReplyStore(folder))


def waits(of: ChatAnswerer) -> list[float]:
    assert isinstance(of.sender.sleep, Waits)
    return list(of.sender.sleep)


def test_log_probabilities_are_read_for_each_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    with chat_server(by_redness) as server:
        monkeypatch.setenv(BASE_URL, server.url + "/")
        model = load_model("openai:planted")
        bound = model.bind(CUBES)
        rows = np.exp(bound.log_probs(pictures(5)))
        assert bound.labels == token_mass.LABELS and model.name == "openai:planted"
        np.testing.assert_allclose(
            rows[:, bound.labels.index("yes")], 0.1 + 0.8 * pictures(5)[:, 0, 0, 0], rtol=1e-6
        )
        assert len(server.requests) == 2 + 5  # the first two are probe pictures
        text = server.requests[0]["messages"][0]["content"][1]["text"]  # type: ignore[index]
        assert text.startswith(CUBES.text) and "cylinder" in text and server.keys == {""}


@pytest.mark.slow
def test_samples_come_near_the_planted_probabilities_and_do_not_claim_to_be_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with chat_server(one_or_two, has_log_probs=False) as server:
        row = answerer(tmp_path, server.url, samples=200)(pictures(1), CUBES)[0]
        monkeypatch.setenv("TREX_CACHE", str(tmp_path))
        model = load_chat("openai:planted", ModelOptions(endpoint=server.url, samples=200))
        bound = model.bind(CUBES)
    value = float(row[token_mass.SAMPLED_LABELS.index("1")])
    assert abs(value - 0.75) < 4.5 * (0.75 * 0.25 / 200) ** 0.5 and row.min() > 0
    assert value != pytest.approx(0.75, abs=1e-9)
    assert (
        bound.labels == token_mass.SAMPLED_LABELS
        and bound.probe_probabilities == ()
        and "sampled, 200" in repr(bound)
    )
    assert (
        len({request["seed"] for request in server.requests}) == 600
    )  # each sample of each picture has its own


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    with chat_server(by_redness) as server:
        first = answerer(tmp_path, server.url)(pictures(6), CUBES)
        assert len(server.requests) == 6
        again = answerer(tmp_path, server.url)(pictures(6)[::-1], CUBES)[::-1]
        assert len(server.requests) == 6 and np.array_equal(first, again)
        other = Question("Are there any cubes?", ())
        answerer(tmp_path, server.url)(pictures(1), other)
        answerer(tmp_path, server.url, samples=2)(pictures(1), CUBES)
        assert len(server.requests) == 9  # another question, another way of asking


def test_requests_and_the_tokens_that_the_server_counts_add_up(tmp_path: Path) -> None:
    with chat_server(by_redness, faults=[Fault(503)]) as server:
        chat_answerer = answerer(tmp_path, server.url)
        chat_answerer(pictures(4), CUBES)
        chat_answerer(pictures(6), CUBES)
        cost = chat_answerer.sender.meter.take()
        assert cost.requests == len(server.requests) and cost.stored == sum(
            bool(np.array_equal(picture, two)) for picture in pictures(4) for two in pictures(6)
        )
    answered = cost.requests - 1  # one was refused, and sent again
    assert (cost.replies, cost.input_tokens, cost.output_tokens) == (answered, 9 * answered, answered)
    assert cost.said == (
        f"chat server: {answered + 1} requests sent, {9 * answered} input and {answered} output tokens, "
        f"{cost.stored} replies from the cache"
    )
    assert chat_answerer.sender.meter.take() == Cost() and Cost().said == ""


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": "9", "completion_tokens": 1}, {"prompt_tokens": -1}, 7]
)
def test_a_reply_whose_tokens_are_not_counted_is_said_to_be_so(usage: object) -> None:
    reply = completion("1", None) | {"usage": usage}
    assert reply_cost(json.dumps(reply).encode()) == Cost(replies=1, uncounted=1)
    counted = reply_cost(json.dumps(completion("1", None)).encode())
    total = Cost(requests=2) + Cost(replies=1, uncounted=1) + counted
    assert total.said == (
        "chat server: 2 requests sent, 9 input and 1 output tokens, tokens of 1 of 2 replies not stated by the server"
    )


def test_two_threads_store_in_one_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One finds no folder, and goes on while the other, which has made it meanwhile, is writing."""
    store, output = ReplyStore(tmp_path), Said(text="1", tokens=None)
    early, late = "ab" + "0" * 62, "ab" + "1" * 62
    looked, writes, done = threading.Event(), threading.Event(), threading.Event()
    mkdir, sync, main = os.mkdir, os.fsync, threading.current_thread()

    def slow_mkdir(path: str, mode: int = 0o777) -> None:
        if threading.current_thread() is not main:
            looked.set()
            assert writes.wait(30.0)
        mkdir(path, mode)

    def slow_sync(number: int) -> None:
        if threading.current_thread() is main:
            writes.set()
            assert done.wait(30.0)
        sync(number)

    def write_early() -> None:
        store.write(early, output)
        done.set()

    monkeypatch.setattr(os, "mkdir", slow_mkdir)
    monkeypatch.setattr(os, "fsync", slow_sync)
    with ThreadPoolExecutor(1) as other:
        writing = other.submit(write_early)
        assert looked.wait(30.0)
        store.write(late, output)
        writing.result()
    assert store.read(early, Said) == store.read(late, Said) == output


def test_a_damaged_reply_in_the_cache_is_asked_for_again(tmp_path: Path) -> None:
    with chat_server(one_or_two) as server:
        first = answerer(tmp_path, server.url)(pictures(1), CUBES)
        (path,) = tmp_path.rglob("*.json")
        for damage in (b"", b"{}", b'{"text": "1", "tokens": [{"token": "1", "logprob": NaN}]}', b"\xff" * 9):
            path.write_bytes(damage)
            assert np.array_equal(answerer(tmp_path, server.url)(pictures(1), CUBES), first)
        assert len(server.requests) == 5


def test_requests_run_side_by_side_up_to_the_bound(tmp_path: Path) -> None:
    with chat_server(one_or_two, meets=threading.Barrier(4)) as server:  # passes in fours only
        answerer(tmp_path, server.url)(pictures(12), CUBES)
        assert server.most_running == 4 and len(server.requests) == 12


def test_a_server_that_says_when_to_try_again_is_obeyed(tmp_path: Path) -> None:
    faults = [
        Fault(429, b"{}", (("Retry-After", after),)) for after in ("3", "Wed, 21 Oct 2026 07:28:00 GMT")
    ]
    with chat_server(one_or_two, faults=faults) as server:
        chat_answerer = answerer(tmp_path, server.url)
        chat_answerer(pictures(1), CUBES)
        assert waits(chat_answerer) == [3.0, 4.0]


def test_nothing_is_tried_again_once_a_search_has_stopped() -> None:
    stop = threading.Event()
    with chat_server(one_or_two, faults=[Fault(503)] * 9) as server:
        sender = Sender(server.url, sleep=lambda _: stop.set())  # another request fails during the wait
        request = request_fields("m", "How many?", png_base64(pictures(1)[0]), None, Fields(), "")
        with pytest.raises(AbandonedError):
            sender.send(json.dumps(request).encode(), stop)
        assert len(server.requests) == 1


def test_only_the_first_question_is_tried_on_probe_pictures() -> None:
    with chat_server(one_or_two) as server:
        model = load_chat("openai:planted", ModelOptions(endpoint=server.url))
        assert len(model.bind(CUBES).probe_probabilities) == 60 and len(server.requests) == 2
        other = model.bind(Question("How many spheres are there?", ()))
        assert other.probe_probabilities == () and len(server.requests) == 2
        assert other.log_probs(pictures(1)).shape == (1, 30) and len(server.requests) == 3


def log_probs(*listed: tuple[str, float]) -> dict[str, object]:
    place = {"token": listed[0][0], "logprob": listed[0][1]}
    return {"content": [{**place, "top_logprobs": [{"token": t, "logprob": p} for t, p in listed]}]}


def edited(path: str, value: object) -> bytes:
    """A reply with one field changed; "" deletes it."""
    reply: dict[str, object] = completion("1", log_probs(("1", -0.1)))
    at: object = reply
    *names, last = path.split(".")
    for name in names:
        at = at[int(name)] if isinstance(at, list) else at[name]  # type: ignore[index]
    if value == "":
        del at[last]  # type: ignore[attr-defined]
    else:
        at[last] = value  # type: ignore[index]
    return json.dumps(reply).encode()


PLACE = "choices.0.logprobs.content.0"
BAD: dict[str, tuple[bytes, type[ModelError], str]] = {
    "HTML": (b"<!doctype html><title>Welcome</title>", ModelError, "a web page; is this the address of the API"),
    "text": (b"Unauthorized", ModelError, "no JSON object"),
    "a list": (b"[1, 2]", ModelError, "no JSON object"),
    "not UTF-8": (b'{"\xff": 1}', ModelError, "must reply with a chat completion"),
    "deep": (b'{"a":' * 5000 + b"1" + b"}" * 5000, ModelError, "nested more than 100"),
    "an error": (b'{"error": {"message": "no"}}', ModelError, "choices"),
    "no choice": (b'{"choices": []}', ModelError, "choices"),
    "a stream": (b'data: {"choices": [{"delta": {"content": "1"}}]}', ModelError, "streams its replies"),
    "two choices": (edited("choices", [{"message": {"content": "1"}}] * 2), ModelError, "choices"),
    "no message": (edited("choices.0.message", ""), ModelError, "message"),
    "a number as text": (edited("choices.0.message.content", 1), ModelError, "content"),
    "a novel": (edited("choices.0.message.content", "x" * 10_001), ModelError, "content"),
    "no log probabilities": (edited("choices.0.logprobs", None), NoLogProbsError, "trex find --set model.samples=20"),
    "log probabilities left out": (edited("choices.0.logprobs", ""), NoLogProbsError, "no log probabilities"),
    "no tokens": (edited("choices.0.logprobs.content", None), NoLogProbsError, "no log probabilities"),
    "NaN": (edited(f"{PLACE}.logprob", float("nan")), ModelError, "NaN is not a finite number"),
    "infinite": (edited(f"{PLACE}.logprob", float("-inf")), ModelError, "not a finite number"),
    "positive": (edited(f"{PLACE}.logprob", 0.5), ModelError, "logprob"),
    "a text as number": (edited(f"{PLACE}.logprob", "-0.1"), ModelError, "logprob"),
    "a long token": (edited(f"{PLACE}.token", "x" * 201), ModelError, "token"),
    "many alternatives": (
        edited(f"{PLACE}.top_logprobs", [{"token": "1", "logprob": -9.0}] * 101), ModelError, "top_logprobs",
    ),
    "above 1": (
        edited("choices.0.logprobs", log_probs(("1", -0.1), ("2", -0.1))), ModelError, r"add up to 1\.81",
    ),
    "a refusal": (edited("choices.0.message.refusal", "I cannot help."), ModelError, "refuses to answer"),
    "a filter": (edited("choices.0.finish_reason", "content_filter"), ModelError, "refuses to answer"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_reply_is_an_error_with_a_name_and_is_not_stored(name: str, tmp_path: Path) -> None:
    body, kind, message = BAD[name]
    with chat_server(one_or_two, faults=[Fault(200, body)]) as server:
        with pytest.raises(kind, match=message) as caught:
            answerer(tmp_path, server.url)(pictures(1), CUBES)
        assert len(server.requests) == 1
    assert str(caught.value).isprintable() and len(str(caught.value)) < 400
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(
    ("status", "message"), [(401, KEY), (403, KEY), (404, "model's name"), (400, "samples"), (422, "samples")]
)
def test_a_final_status_says_what_to_do(status: int, message: str, tmp_path: Path) -> None:
    with chat_server(one_or_two, faults=[Fault(status)]) as server:
        with pytest.raises(ModelError, match=f"status {status}; .*{message}"):
            answerer(tmp_path, server.url)(pictures(1), CUBES)
        assert len(server.requests) == 1


def test_too_many_requests_repeated_ones_included_end_with_what_was_answered_kept(tmp_path: Path) -> None:
    with chat_server(by_redness, faults=[Fault(503)]) as server:
        with pytest.raises(RequestLimitError, match="max_requests = 5 requests were sent"):
            replace(answerer(tmp_path, server.url, most=5), concurrency=1)(pictures(9), CUBES)
        assert len(server.requests) == 5
        answerer(tmp_path, server.url, most=5)(pictures(9), CUBES)
        assert len(server.requests) == 10


def test_the_key_goes_to_the_server_and_is_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(KEY, SECRET)
    with chat_server(one_or_two) as server:
        model = load_chat("openai:planted", ModelOptions(server.url))
        bound = model.bind(CUBES)
        assert server.keys == {f"Bearer {SECRET}"}
        texts = [repr(model), repr(model.answerer), repr(bound), model_fingerprint(model.name, bound)]
        echo = json.dumps(completion(f"your key is {SECRET}", None)).encode()
        for status in (200, 400, 401, 500, 307):
            server.faults[:] = [Fault(status, echo)] * 3
            with pytest.raises(
                ModelError, match="repeats OPENAI_API_KEY" if status == 200 else server.url
            ) as caught:
                answerer(tmp_path / "other", server.url, key=SECRET)(pictures(1), CUBES)
            texts += [str(caught.value), repr(caught.value), repr(caught.value.__cause__)]
    texts += [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(texts) > 20 - 1 and not any(SECRET in text for text in texts)
    assert SECRET not in "".join(capfd.readouterr())


def test_only_what_is_stored_of_a_reply_may_not_repeat_the_key(tmp_path: Path) -> None:
    """Planted bug: the key was sought in the bytes around the reply, so "ollama" was found in "fp_ollama"."""
    whole = completion("2", log_probs(("2", -0.1))) | {"system_fingerprint": "fp_ollama", "model": "ollama/x"}
    with chat_server(one_or_two, faults=[Fault(200, json.dumps(whole).encode())]) as server:
        row = answerer(tmp_path, server.url, key="ollama")(pictures(1), CUBES)[0]
    assert row[token_mass.LABELS.index("2")] == pytest.approx(np.exp(-0.1), abs=1e-6)


ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in SECRET)
ECHOES = {
    "escaped": json.dumps(completion("KEY", log_probs(("1", -0.1)))).replace("KEY", ESCAPED),
    "an alternative": json.dumps(completion("1", log_probs(("1", -0.1), (f"{SECRET}!", -9.0)))),
    "split": json.dumps(
        completion("1", {"content": [{"token": part, "logprob": 0.0} for part in (SECRET[:9], SECRET[9:])]})
    ),
}


@pytest.mark.parametrize("name", ECHOES)
def test_a_key_is_found_however_it_is_written(name: str, tmp_path: Path) -> None:
    """Planted bug: a key with escaped letters passed, and was stored in the clear."""
    assert SECRET not in ECHOES[name] or name == "an alternative"
    with chat_server(one_or_two, faults=[Fault(200, ECHOES[name].encode())]) as server:
        with pytest.raises(ModelError, match="repeats OPENAI_API_KEY") as caught:
            answerer(tmp_path, server.url, key=SECRET)(pictures(1), CUBES)
        assert len(server.requests) == 1
    assert SECRET not in str(caught.value) and not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("openai:", ModelOptions("http://localhost/v1"), "names no model of a server"),
        ("openai:m", ModelOptions(), "set OPENAI_BASE_URL, or .model. endpoint"),
        ("openai:m", ModelOptions("ftp://localhost/v1"), "does not begin with http"),
        (
            "openai:m",
            ModelOptions("localhost:8000/v1"),
            "the model, .localhost:8000/v1., does not begin with",
        ),
        ("openai:m", ModelOptions("http://user:pw-x@localhost/v1"), "OPENAI_API_KEY"),
        ("openai:m", ModelOptions("http://localhost/v1?key=pw-x"), "OPENAI_API_KEY"),
        ("openai:m", ModelOptions("http://localhost/v1", prompt="Look!"), "holds {question} 0 times"),
    ],
)
def test_a_wrong_name_address_or_prompt_is_refused_before_any_request(
    spec: str, options: ModelOptions, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_chat(spec, options)
    assert "pw-x" not in str(caught.value)


def test_a_question_without_english_is_refused() -> None:
    model = load_chat("openai:m", ModelOptions("http://localhost:9/v1"))
    with pytest.raises(InputError, match="reads English"):
        model.bind(Question("", ()))


@pytest.fixture
def asked() -> Iterator[Callable[[ModelOptions], tuple[str, str]]]:
    """The fingerprints of a model with options, the endpoint being that of a running server."""
    with chat_server(one_or_two) as server:

        def fingerprints(options: ModelOptions) -> tuple[str, str]:
            given = ModelOptions(server.url, options.prompt, options.samples, options.max_requests)
            bound = load_chat("openai:planted", given).bind(CUBES)
            return model_fingerprint("openai:planted", bound), weights_fingerprint("openai:planted", bound)

        yield fingerprints


def test_prompt_and_samples_are_part_of_the_fingerprint_and_bounds_are_not(
    asked: Callable[[ModelOptions], tuple[str, str]],
) -> None:
    plain = asked(ModelOptions())
    assert asked(ModelOptions(max_requests=50)) == plain
    for options in (ModelOptions(prompt="{question} One word."), ModelOptions(samples=3)):
        assert not set(asked(options)) & set(plain)
