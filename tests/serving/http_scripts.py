"""Web services that follow a script: what each connection is answered with, byte by byte, after its request."""

from __future__ import annotations

import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Turn = Callable[[socket.socket], None]
ANSWER = {"labels": ["no", "yes"], "probabilities": [[0.25, 0.75]]}


class Requests(list[bytes]):
    """What came in, whole requests, and the port that it came to."""

    port = 0

    @property
    def url(self) -> str:
        """The address of the service."""
        return f"http://127.0.0.1:{self.port}/vqa"


@contextmanager
def serving(*turns: Turn, host: str = "127.0.0.1", reads: bool = True) -> Iterator[Requests]:
    """A service that follows one turn a connection, in order; with `reads=False` a turn reads the request itself."""
    requests = Requests()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as listening:
        requests.port = listening.getsockname()[1]
        thread = threading.Thread(target=_serve, args=(listening, turns, requests if reads else None))
        thread.start()
        try:
            yield requests
        finally:
            listening.shutdown(socket.SHUT_RDWR)  # wakes a thread that still waits for a connection
            thread.join()


def _serve(listening: socket.socket, turns: tuple[Turn, ...], requests: Requests | None) -> None:
    for turn in turns:
        with suppress(OSError):
            connection, _ = listening.accept()
            with connection:
                if requests is not None:
                    requests.append(read_request(connection))
                turn(connection)


def read_request(connection: socket.socket) -> bytes:
    """The whole request that comes in."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or b"\r\n\r\n"
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    while length and len(body) < int(length[1]):
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def sends(*pieces: bytes, is_reset: bool = False) -> Turn:
    """Sends these bytes, then closes the connection, or resets it."""

    def turn(connection: socket.socket) -> None:
        connection.sendall(b"".join(pieces))
        if is_reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return turn


def answer(reply: object = ANSWER) -> bytes:
    """A whole reply with its length."""
    body = json.dumps(reply).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Waits(list[float]):
    """Sleeps for nothing, and keeps how long it was asked to."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)
