"""`trex queue serve` in a thread of the test, and requests that go out as they are written."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from trex.farm.monitor.serve import make_app
from trex.pages.address import listen
from trex.pages.web import Guard, server_config


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class Site:
    """Pages that are served at this port."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, method: str = "GET", body: str | None = None, **headers: str) -> Answer:
        """One request; the path goes out unchanged, underscores of header names become dashes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, names)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read().decode("utf-8", "replace"))
        finally:
            connection.close()

    def raw(self, request: bytes) -> bytes:
        """What these bytes are answered with."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(request)
            return connection.recv(65536)


@contextmanager
def served(runs: Path, token: str | None = None) -> Iterator[Site]:
    """The pages of a runs folder."""
    with answering(make_app(runs, token, "127.0.0.1")) as site:
        yield site


@contextmanager
def answering(app: Guard) -> Iterator[Site]:
    """An app that answers at a free port."""
    with listen("127.0.0.1", 0) as listening:
        server = uvicorn.Server(server_config(app))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Site(listening.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join()
