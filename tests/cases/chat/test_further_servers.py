"""Further shapes of what servers reply, refuse and close: text generation inference, empty thoughts, lost refusals."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from tests.serving.chat_shapes import CUBES, GOOD, Answer, reply, shaped_server, token
from trex.clevr_models.adapters.http_model import HttpAnswerer
from trex.foundation.errors import ModelError
from trex.foundation.json_fields import Json

LARGEST = 200_000  # bytes of a body that the hasty server reads


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TREX_MODEL_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def hasty() -> Iterator[str]:
    """A service that refuses a large request by its header, and closes without reading the rest."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            if size > LARGEST:
                self.send_response(413)
                self.end_headers()
                return
            n = len(json.loads(self.rfile.read(size))["pictures"])
            data = json.dumps({"labels": ["no", "yes"], "probabilities": [[0.25, 0.75]] * n}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


def noise(n: int, height: int, width: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.random.default_rng(5).random((n, height, width, 3)).astype(np.float32)


def test_a_service_that_closes_before_it_has_read_a_large_request_gets_smaller_ones(hasty: str) -> None:
    """Its status 413 is lost with the connection: planted as "did not answer in 4 attempts"."""
    asked = HttpAnswerer(hasty, waits_s=(0.0, 0.0, 0.0))
    assert np.array_equal(asked(noise(20, 160, 240), CUBES), [[0.25, 0.75]] * 20)
    assert asked.most < 20


def test_one_picture_that_such_a_service_does_not_take_is_said_to_be_large(hasty: str) -> None:
    with pytest.raises(ModelError, match=r"413|the request may be too large"):
        HttpAnswerer(hasty, waits_s=())(noise(1, 800, 1200), CUBES)


def test_the_alternatives_by_their_name_inside_text_generation_inference() -> None:
    def shape(request: Json) -> Answer:
        given = request["top_logprobs"]
        assert isinstance(given, int)
        said = f"Input validation error: `top_n_tokens` must be >= 0 and <= 5. Given: {given}"
        return (422, {"error": said, "error_type": "validation"}) if given > 5 else GOOD

    with shaped_server(shape) as server:
        assert server.shares()["2"] > 0.9


EMPTY = "<think>\n\n</think>\n\n"
LISTED = [token(text) for text in ("<think>", "\n\n", "</think>", "\n\n", "2", "<|im_end|>")]


@pytest.mark.parametrize(
    ("answer", "samples"),
    [
        (reply(f"{EMPTY}2", LISTED), 0),
        (reply(f"{EMPTY}2", None), 3),
        (reply("<think>3</think>2<|im_end|>", None), 3),
    ],
)
def test_the_answer_after_thoughts_in_the_text_is_the_answer(answer: Answer, samples: int) -> None:
    """As Qwen 3 writes it after /no_think, if the server has no parser for its thoughts."""
    with shaped_server(lambda _: answer) as server:
        shares = server.shares(samples)
        assert max(shares, key=lambda answer: shares[answer]) == "2"
        assert not server.model(samples).bind(CUBES).notes  # type: ignore[attr-defined]


def test_a_cut_reply_is_said_to_be_as_long_as_it_was() -> None:
    """A server may insist on more than the 8 tokens that are asked for at first."""

    def shape(request: Json) -> Answer:
        if request["max_tokens"] == 8:
            return 400, {"error": {"message": "max_tokens must be at least 16"}}
        return reply("<think>\nOkay", None, "length")

    with shaped_server(shape) as server:
        (note,) = server.model(3).bind(CUBES).notes  # type: ignore[attr-defined]
    assert "cut at 16 tokens" in note


@pytest.mark.parametrize("samples", [4, 7])
def test_a_few_samples_of_a_server_that_never_samples_are_refused_too(samples: int) -> None:
    """Planted: below 8 samples, equal replies passed for a sure model."""
    with (
        shaped_server(lambda _: reply("2", None)) as server,
        pytest.raises(ModelError, match="even when asked for random words"),
    ):
        server.model(samples).bind(CUBES)
