"""Chat servers whose replies have the shapes that real servers give: each is a function from a request to a reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from tests.serving.http_server import Quiet, listening
from trex.clevr_models.adapters.callable_model import probe_pictures
from trex.clevr_models.chat.chat_model import ChatModel, load_chat
from trex.clevr_models.interface.options import ModelOptions
from trex.clevr_models.interface.question import Question
from trex.foundation.json_fields import Json

CUBES = Question("How many cubes are there?", ())
Answer = tuple[int, object]
Shape = Callable[[Json], Answer]


def token(text: str, log_prob: float = -0.01, others: Sequence[tuple[str, float]] = ()) -> Json:
    """A token with its alternatives."""
    listed = [{"token": item, "logprob": value} for item, value in ((text, log_prob), *others)]
    return {"token": text, "logprob": log_prob, "bytes": None, "top_logprobs": listed}


def reply(content: object, tokens: object, finish: object = "stop", **message: object) -> Answer:
    """A chat completion."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": finish,
    }
    return 200, {"choices": [{**choice, "logprobs": {"content": tokens} if tokens is not None else None}]}


GOOD = reply("2", [token("2"), token("<|im_end|>")])


def refusal(message: str, status: int = 400, **more: object) -> Answer:
    """OpenAI's form of an error."""
    return status, {"error": {"message": message, **more}}


@dataclass
class Shaped:
    """A running server: its address, and the requests so far."""

    url: str
    requests: list[Json] = field(default_factory=list)

    def model(self, samples: int = 0, extra: str = "") -> ChatModel:
        """A model behind it, that does not wait between tries."""
        found = load_chat("openai:m", ModelOptions(endpoint=self.url, samples=samples, extra=extra))
        found.answerer.sender.waits_s = ()
        return found

    def shares(self, samples: int = 0) -> dict[str, float]:
        """The probabilities of the answers about the first probe picture, above 1%."""
        bound = self.model(samples).bind(CUBES)
        row = np.exp(bound.log_probs(probe_pictures()[:1]))[0]
        return {label: float(share) for label, share in zip(bound.labels, row, strict=True) if share > 0.01}


@contextmanager
def shaped_server(shape: Shape) -> Iterator[Shaped]:
    """A server that answers with this shape."""

    class Handler(Quiet):
        def answer(self) -> None:
            request: Json = json.loads(self.body())
            state.requests.append(request)
            status, found = shape(request)
            self.send(found if isinstance(found, bytes) else json.dumps(found).encode(), status)

    with listening(Handler) as address:
        state = Shaped(f"{address}/v1")
        yield state


def shares(answer: Answer | Shape, samples: int = 0) -> dict[str, float]:
    """The probabilities of the answers that a server's reply, or its shape, gives, above 1%."""
    with shaped_server(answer if callable(answer) else lambda _: answer) as server:
        return server.shares(samples)
