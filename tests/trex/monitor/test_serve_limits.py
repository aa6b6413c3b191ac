"""What `trex serve` does with requests that are never finished, wrong tokens, and HEAD."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.running.farm_runs import queued
from tests.serving.served import Site, served
from trex.monitor import serve_protocol

TOKEN = "0123456789abcdef-the-token"
WRONG = {"Authorization": f"Bearer {TOKEN}x"}
RIGHT = {"Authorization": f"Bearer {TOKEN}"}


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


@pytest.mark.parametrize("way", ["a program", "the form", "a page of somebody else"])
def test_wrong_tokens_of_others_never_keep_the_owner_out(way: str, runs: Path) -> None:
    """Any page that the owner's browser shows can post to this address, from the owner's own."""
    foreign = {
        "Sec-Fetch-Site": "cross-site",
        "Origin": "http://evil.example",
        "Referer": "http://evil.example/",
    }
    with served(runs, TOKEN) as site:
        for number in range(30):
            if way == "a program":
                assert site.get("/", **WRONG).status == 401
            else:
                more = foreign if way == "a page of somebody else" else {}
                assert site.get("/login", "POST", f"token=wrong{number}", **more).status == 401
        assert site.get("/", **RIGHT).status == 200
        answer = site.get("/login", "POST", f"token={TOKEN}")
        assert answer.status == 303
        cookie = answer.headers["set-cookie"].split(";")[0]
        assert site.get("/", Cookie=cookie).status == 200
        assert site.get("/", Cookie=f"{cookie}x").status == 401 and site.get("/").status == 401


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
