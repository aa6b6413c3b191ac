"""A chat-completions server with a planted language model: it checks every field of a request and answers exactly.

The planted model is a probability of each whole reply, given as its tokens. What the server says about tokens follows
from it by conditioning. Request and reply follow https://platform.openai.com/docs/api-reference/chat.
"""

from __future__ import annotations

import base64
import io
import json
import math
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.serving.http_server import Quiet, listening
from trex.foundation.json_fields import Json

Replies = Mapping[tuple[str, ...], float]
Planted = Callable[[NDArray[np.uint8]], Replies]
END = "<|im_end|>"
FIELDS = {"model", "messages", "max_tokens", "temperature", "top_p"}
EXACT, SAMPLE = {"logprobs", "top_logprobs"}, {"seed"}
WORDS = ("lamp", "seven", "moss", "under", "piano", "salt")
DATA_URL = "data:image/png;base64,"


@dataclass(frozen=True)
class Fault:
    """What a request gets in place of an answer; status 0 cuts the connection."""

    status: int
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class ChatServer:
    """The planted model, the requests so far, and the faults that come first."""

    planted: Planted
    has_log_probs: bool = True
    samples: bool = True  # or gives the same reply whatever the seed
    top: int = 20
    lists_end: bool = True  # the token that ends a reply, as vLLM does
    faults: list[Fault] = field(default_factory=list)
    requests: list[Json] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    meets: threading.Barrier | None = None  # where requests wait for each other
    url: str = ""

    def reply(self, request: Json) -> Json:
        """The chat completion."""
        replies = self.planted(picture_of(request))
        if "seed" in request:
            seeded = random.Random(str(request["seed"]) if self.samples else "always the same")
            if "random words" in text_of(request):  # no model is sure of those
                return completion(" ".join(seeded.choices(WORDS, k=8)), None)
            tokens = seeded.choices(list(replies), list(replies.values()))[0]
            return completion("".join(tokens), None)
        listed = entries(replies, self.top, lists_end=self.lists_end)
        content = [{**item, "bytes": None} for item in listed]
        text = "".join(str(item["token"]) for item in listed if item["token"] != END)
        return completion(text, {"content": content, "refusal": None} if self.has_log_probs else None)


def completion(text: str | None, log_probs: Json | None, **message: object) -> Json:
    """A whole reply with one choice."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text, "refusal": None} | message,
        "logprobs": log_probs,
    }
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "planted",
        "choices": [choice],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
    }


def entries(replies: Replies, top: int, *, lists_end: bool = True) -> list[Json]:
    """The tokens of the greedy reply with the likeliest alternatives at each place, by conditioning."""
    prefix: tuple[str, ...] = ()
    found: list[Json] = []
    while True:
        after = _next_tokens(replies, prefix)
        best = max(after, key=lambda token: after[token])
        if best == END and not lists_end:
            return found
        likeliest = sorted(after, key=lambda token: -after[token])[:top]
        listed = [{"token": token, "logprob": _log(after[token]), "bytes": None} for token in likeliest]
        found.append({"token": best, "logprob": _log(after[best]), "top_logprobs": listed})
        if best == END:
            return found
        prefix = (*prefix, best)


def _log(share: float) -> float:
    """As published: -9999 for a token that is all but impossible."""
    return math.log(share) if share > 0 else -9999.0


def _next_tokens(replies: Replies, prefix: tuple[str, ...]) -> dict[str, float]:
    n, shares = len(prefix), dict[str, float]()
    for tokens, share in replies.items():
        if tokens[:n] == prefix:
            token = (*tokens, END)[n]
            shares[token] = shares.get(token, 0.0) + share
    total = math.fsum(shares.values())
    return {token: share / total for token, share in shares.items()}


def picture_of(request: Json) -> NDArray[np.uint8]:
    """The picture (H, W, 3) of a valid request."""
    url = request["messages"][0]["content"][0]["image_url"]["url"]  # type: ignore[index]
    data = base64.b64decode(url.removeprefix(DATA_URL), validate=True)
    with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
        return np.asarray(image.convert("RGB"))


def text_of(request: Json) -> str:
    """The prompt of a valid request."""
    return str(request["messages"][0]["content"][1]["text"])  # type: ignore[index]


def check(request: Json) -> None:
    """AssertionError unless every field of a request is as published, and none is missing or left over."""
    mode = SAMPLE if "seed" in request else EXACT
    assert set(request) == FIELDS | mode, sorted(request)
    assert isinstance(request["model"], str) and request["model"] and request["top_p"] == 1
    assert isinstance(request["max_tokens"], int) and 1 <= request["max_tokens"] <= 16
    if mode is EXACT:
        assert request["temperature"] == 0 and request["logprobs"] is True
        assert request["top_logprobs"] == 20  # the most that is allowed
    else:
        seed = request["seed"]
        assert request["temperature"] == 1 and isinstance(seed, int) and 0 <= seed < 2**31
    messages: Any = request["messages"]
    (message,) = messages
    assert set(message) == {"role", "content"} and message["role"] == "user"
    image, text = message["content"]
    assert set(text) == {"type", "text"} and text["type"] == "text" and text["text"].strip()
    assert set(image) == {"type", "image_url"} and image["type"] == "image_url"
    assert set(image["image_url"]) == {"url"} and image["image_url"]["url"].startswith(DATA_URL)
    picture = picture_of(request)
    assert picture.shape[2] == 3 and picture.shape[1] * 2 == picture.shape[0] * 3


@contextmanager
def chat_server(planted: Planted, **options: object) -> Iterator[ChatServer]:
    """A running server; every request must have been valid when the block ends."""
    state = ChatServer(planted, **options)  # type: ignore[arg-type]
    lock = threading.Lock()

    class Handler(Quiet):
        def answer(self) -> None:
            body = self.body()
            with lock:
                state.running += 1
                state.most_running = max(state.most_running, state.running)
            if state.meets is not None:
                state.meets.wait(10)
            with lock:
                status, data, headers = self._answer(body)
                state.running -= 1
            if status == 0:
                self.close_connection = True
                return
            self.send(data, status, **dict(headers))

        def _answer(self, body: bytes) -> tuple[int, bytes, tuple[tuple[str, str], ...]]:
            request: Json = json.loads(body)
            state.requests.append(request)
            state.keys.add(self.headers.get("Authorization", ""))
            try:
                assert self.path == "/v1/chat/completions", self.path
                assert self.headers["Content-Type"] == "application/json"
                check(request)
            except Exception as error:
                state.violations.append(repr(error))
                return 400, b"{}", ()
            if state.faults:
                fault = state.faults.pop(0)
                return fault.status, fault.body, fault.headers
            return 200, json.dumps(state.reply(request)).encode(), ()

    with listening(Handler) as address:
        state.url = f"{address}/v1"
        yield state
    assert not state.violations, state.violations
