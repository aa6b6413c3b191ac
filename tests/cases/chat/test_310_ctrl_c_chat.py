"""Ctrl-C and SIGTERM end a command whose model does not answer, or says to try again later, at once.

Nothing here measures time: the server never answers, or asks for a wait of a day, so that only a stop ends the command.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.running.runs import QUERY
from trex.clevr_models.adapters import http_exchange
from trex.clevr_models.adapters.http_exchange import AbandonedError, post
from trex.clevr_models.chat.sender import Sender
from trex.foundation.errors import STOPPED

pytestmark = [
    pytest.mark.process,
    pytest.mark.timeout(100),
]  # less than one request may take: 120 s, four times over
LATER = b"HTTP/1.1 503 Later\r\nRetry-After: 100000\r\nContent-Length: 0\r\n\r\n"


class Silent:
    """A server that takes requests, and answers none of them, or each with the same bytes."""

    def __init__(self, listening: socket.socket, data: bytes) -> None:
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self.came = threading.Event()
        self._listening, self._said = listening, data
        self._kept: list[socket.socket] = []

    def run(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self._kept.append(connection)
                connection.recv(1 << 16)
                if self._said:
                    connection.sendall(self._said)
                self.came.set()

    def close(self) -> None:
        for connection in self._kept:
            connection.close()


@contextmanager
def silent(data: bytes = b"") -> Iterator[Silent]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Silent(listening, data)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            server.close()


def command(folder: Path, words: list[str], model: str, endpoint: str) -> subprocess.Popen[str]:
    query = folder / "query.toml"
    where = f'name = "{model}"' + (f'\nendpoint = "{endpoint}"' if endpoint else "")
    query.write_text(QUERY.replace('name = "fake"', where))
    environment = {**os.environ, "TREX_CACHE": str(folder / "cache"), "OPENAI_API_KEY": "sk-x"}
    return subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.signal(2, signal.default_int_handler); "
         "from trex.__main__ import main; main()", words[0], str(query), *words[1:]],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=folder,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "data", "words", "number", "code"),
    [
        ("chat", b"", ["check"], signal.SIGINT, STOPPED),
        ("chat", LATER, ["check"], signal.SIGINT, STOPPED),
        ("chat", b"", ["find", "--out", "run"], signal.SIGTERM, STOPPED),
        ("http", b"", ["check"], signal.SIGINT, STOPPED),
        ("http", LATER, ["find", "--out", "run"], signal.SIGTERM, STOPPED),
    ],
    ids=["silence", "later", "silence, SIGTERM", "a web service", "a web service, later, SIGTERM"],
)
def test_a_stop_ends_a_command_that_waits_for_its_model(
    kind: str, data: bytes, words: list[str], number: int, code: int, tmp_path: Path
) -> None:
    with silent(data) as server:
        model, endpoint = ("openai:m", f"{server.url}/v1") if kind == "chat" else (f"{server.url}/ask", "")
        with command(tmp_path, words, model, endpoint) as process:
            assert server.came.wait(60)
            process.send_signal(number)
            output, _ = process.communicate()  # the server still says nothing
    assert process.returncode == code and "stopped" in output and "Traceback" not in output


def test_a_stop_ends_a_request_in_flight() -> None:
    stop = threading.Event()
    with silent() as server:
        threading.Thread(target=lambda: (server.came.wait(60), stop.set())).start()
        with pytest.raises(AbandonedError):
            post(f"{server.url}/v1", b"{}", "", 10_000.0, stop)


def test_a_stop_ends_a_wait_between_two_tries() -> None:
    stop = threading.Event()
    with silent(LATER) as server:
        threading.Thread(target=lambda: (server.came.wait(60), stop.set())).start()
        with pytest.raises(AbandonedError):
            Sender(server.url, waits_s=(10_000.0,)).send(b"{}", stop)


def test_a_stop_ends_the_look_up_of_a_name_that_no_server_of_names_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted: the event loop waited for its thread, which cannot be cancelled."""
    stop, looks_up, ends = threading.Event(), threading.Event(), threading.Event()

    def look(*_: object, **__: object) -> Callable[[], None]:
        looks_up.set()
        ends.wait(1000)
        raise OSError("no such name")

    monkeypatch.setattr(http_exchange.socket, "getaddrinfo", look)
    threading.Thread(target=lambda: (looks_up.wait(60), stop.set())).start()
    with pytest.raises(AbandonedError):
        post("http://models.example/v1", b"{}", "", 10_000.0, stop)
    ends.set()


def test_a_name_that_does_not_exist_is_still_said() -> None:
    with pytest.raises(http_exchange.PassingError, match="the host name was not found"):
        post("http://no-such-host.invalid/v1", b"{}", "", 10.0)
