"""Chat servers whose replies have the shapes that real servers give: each is a function from a request to a reply."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

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

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append(request)
            status, found = shape(request)
            data = found if isinstance(found, bytes) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state = Shaped(f"http://127.0.0.1:{server.server_address[1]}/v1")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def shares(answer: Answer | Shape, samples: int = 0) -> dict[str, float]:
    """The probabilities of the answers that a server's reply, or its shape, gives, above 1%."""
    with shaped_server(answer if callable(answer) else lambda _: answer) as server:
        return server.shares(samples)
