"""What web services refuse, and why: requests that are too large, and reasons that are shown."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.serving.chat_shapes import CUBES, Answer, refusal, shaped_server, shares
from tests.serving.http_server import Quiet, listening
from trex.clevr_models.adapters.http_exchange import StatusError
from trex.clevr_models.adapters.http_model import HttpAnswerer
from trex.foundation.errors import ModelError
from trex.foundation.json_fields import Json

LARGEST = 200_000  # bytes of a body that the hasty server reads


def service(most: int) -> tuple[Callable[[Json], Answer], list[int]]:
    """A service of two labels that takes at most so many bytes of pictures, counted in pictures."""
    sizes: list[int] = []

    def shape(request: Json) -> Answer:
        pictures = request["pictures"]
        assert isinstance(pictures, list)
        sizes.append(len(pictures))
        if len(pictures) > most:
            return 413, b"<html>413 Request Entity Too Large</html>"
        reds = [base64.b64decode(picture)[-20] / 255 for picture in pictures]
        return 200, {"labels": ["no", "yes"], "probabilities": [[1 - red, red] for red in reds]}

    return shape, sizes


def pictures(n: int, height: int = 8, width: int = 12) -> NDArray[np.float32]:
    return np.random.default_rng(3).random((n, height, width, 3), np.float32)


@pytest.mark.parametrize("most", [1, 3, 7, 32])
def test_a_service_that_finds_a_request_too_large_gets_smaller_ones(most: int) -> None:
    shape, sizes = service(most)
    with shaped_server(shape) as server:
        answerer = HttpAnswerer(server.url, waits_s=())
        rows = answerer(pictures(20), CUBES)
        first = len(sizes)
        again = answerer(pictures(20), CUBES)
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


@pytest.mark.parametrize(
    ("body", "text"),
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
def test_the_reason_of_a_web_service_is_shown(body: object, text: str) -> None:
    with (
        shaped_server(lambda _: (422, body)) as server,
        pytest.raises(ModelError, match=text) as caught,
    ):
        HttpAnswerer(server.url, token="s3cret-of-the-service", waits_s=())(pictures(1), CUBES)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("reason", "status", "more"),
    [
        ("Request too large", 413, ", although the request holds a single picture"),
        ("You exceeded your current quota", 429, ""),  # a passing failure
    ],
)
def test_the_reason_of_a_chat_server_is_shown(reason: str, status: int, more: str) -> None:
    with pytest.raises(ModelError, match=f"{status}: {reason}{more}"):
        shares(refusal(reason, status))


@pytest.fixture
def hasty() -> Iterator[str]:
    """A service that refuses a large request by its header, and closes without reading the rest."""

    class Handler(Quiet):
        def answer(self) -> None:
            size = int(self.headers["Content-Length"])
            if size > LARGEST:
                self.send_response(413)
                self.end_headers()
                return
            n = len(json.loads(self.rfile.read(size))["pictures"])
            self.send(json.dumps({"labels": ["no", "yes"], "probabilities": [[0.25, 0.75]] * n}).encode())

    with listening(Handler) as address:
        yield f"{address}/"


def test_a_service_that_closes_before_it_has_read_a_large_request_gets_smaller_ones(hasty: str) -> None:
    """Its status 413 is lost with the connection: planted as "did not answer in 4 attempts"."""
    answerer = HttpAnswerer(hasty, waits_s=(0.0, 0.0, 0.0))
    assert np.array_equal(answerer(pictures(20, 160, 240), CUBES), [[0.25, 0.75]] * 20)
    assert answerer.most < 20


def test_one_picture_that_such_a_service_does_not_take_is_said_to_be_large(hasty: str) -> None:
    with pytest.raises(ModelError, match=r"413|the request may be too large"):
        HttpAnswerer(hasty, waits_s=())(pictures(1, 800, 1200), CUBES)
