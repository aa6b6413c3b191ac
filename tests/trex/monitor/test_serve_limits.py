"""What `trex serve` does with requests that are never finished, wrong tokens, and HEAD."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.running.farm_runs import queued
from tests.serving.served import Site, served
from trex.monitor import serve_protocol
from trex.monitor.serve_attempts import BURST, EVERY_S, Attempts

TOKEN = "0123456789abcdef-the-token"
WRONG = {"Authorization": f"Bearer {TOKEN}x"}
RIGHT = {"Authorization": f"Bearer {TOKEN}"}


class Clock:
    """Seconds that pass when the test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return queued(tmp_path_factory.mktemp("limits"), "search.seed=1..2")


HEAD = b"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"


@pytest.mark.parametrize(
    "request_begun",
    [b"", b"GET / HTTP/1.1\r\nHost: local", HEAD, HEAD + b"token="],
    ids=["nothing", "half a head", "no body", "half a body"],
)
def test_a_request_that_is_never_finished_is_closed(
    request_begun: bytes, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serve_protocol, "REQUEST_S", 0.2)
    with served(runs, TOKEN) as site:
        with socket.create_connection(("127.0.0.1", site.port), timeout=30) as connection:
            connection.sendall(request_begun)
            assert connection.recv(65536) == b"", "closed, and nothing is answered"
        assert site.get("/", **RIGHT).status == 200


def test_a_finished_request_may_take_its_time_to_be_answered(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events come for as long as somebody listens."""
    monkeypatch.setattr(serve_protocol, "REQUEST_S", 0.2)
    ask = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with served(runs) as site, socket.create_connection(("127.0.0.1", site.port), timeout=60) as connection:
        connection.sendall(ask)
        seen = b""
        while seen.count(b"data: ") < 1:
            seen += connection.recv(65536)
        queued(runs.parent, "search.seed=3")  # told with the next look, a second later
        while seen.count(b"data: ") < 2:
            piece = connection.recv(65536)
            assert piece, "closed while events were sent"
            seen += piece


def test_wrong_tokens_are_slowed_and_the_right_one_is_not_tried_meanwhile(runs: Path) -> None:
    clock = Clock()
    with served(runs, TOKEN, Attempts(clock)) as site:
        assert [site.get("/", **WRONG).status for _ in range(BURST)] == [401] * BURST
        slowed = site.get("/", **WRONG)
        assert (slowed.status, slowed.headers["retry-after"]) == (429, str(int(EVERY_S)))
        assert site.get("/", **RIGHT).status == 429, "else a guess that is right would be told apart"
        assert site.get("/login", "POST", f"token={TOKEN}").status == 429
        assert site.get("/").status == 401, "a request without a token is answered as ever"
        clock.now += EVERY_S
        assert site.get("/", **RIGHT).status == 200
        assert site.get("/login", "POST", "token=wrong").status == 401
        assert site.get("/login", "POST", "token=wrong").status == 429
        clock.now += EVERY_S
        assert site.get("/login", "POST", f"token={TOKEN}").status == 303


def test_a_browser_that_has_logged_in_is_not_slowed_by_others(runs: Path) -> None:
    with served(runs, TOKEN, Attempts(Clock())) as site:
        cookie = site.get("/login", "POST", f"token={TOKEN}").headers["set-cookie"].split(";")[0]
        for _ in range(BURST + 1):
            site.get("/", **WRONG)
        assert site.get("/", Cookie=cookie).status == 200


def test_each_address_has_its_own_attempts() -> None:
    """Of IPv6 the 64 bits that one customer has."""
    clock = Clock()
    attempts = Attempts(clock)
    for _ in range(BURST):
        attempts.wrong("192.0.2.1")
        attempts.wrong("2001:db8::1")
    waits = [attempts.wait_s(one) for one in ("192.0.2.1", "192.0.2.2", "2001:db8::ffff", "2001:db8:0:1::1")]
    assert waits == [EVERY_S, 0.0, EVERY_S, 0.0]
    clock.now += EVERY_S * BURST
    assert attempts.wait_s("192.0.2.1") == 0.0


def same_head(site: Site, path: str, **headers: str) -> bool:
    """Whether HEAD is answered as GET is, without a body."""
    head, whole = site.get(path, "HEAD", **headers), site.get(path, **headers)
    names = ("content-type", "content-security-policy", "cache-control", "location")
    same = [head.headers.get(name) == whole.headers.get(name) for name in names]
    return head.status == whole.status and head.text == "" and all(same)


def test_head_is_answered_as_get_without_the_body(runs: Path) -> None:
    with served(runs) as site:
        for path in ("/", "/all", "/metrics", "/login", "/static/serve.css", "/none", "/runs/none"):
            assert same_head(site, path), path
        events = site.get("/events", "HEAD")
        assert events.status == 200 and events.headers["content-type"].startswith("text/event-stream")
        assert site.get("/", "HEAD").status == 200
    with served(runs, TOKEN) as site:
        assert same_head(site, "/") and same_head(site, "/", Accept="text/html")
        assert same_head(site, "/", **RIGHT)
