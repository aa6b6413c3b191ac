"""One POST and its reply within a total time and size; bypasses proxies for this machine, follows no redirect."""

from __future__ import annotations

import http.client
import io
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from trex.clevr_models.adapters.http_address import is_loopback
from trex.foundation.errors import ModelError

LARGEST_REPLY = 16 * 2**20
PIECE = 2**16
PASSING = (408, 425, 429, 500, 502, 503, 504)  # temporary statuses, worth another try


class PassingError(Exception):
    """A temporary failure, worth another try, after the seconds that the server asks for (Retry-After) if it does."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class StatusError(ModelError):
    """A status that no other try can change."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Deadline:
    """The time by which an exchange must end, however slowly its bytes arrive."""

    at: float
    clock: Callable[[], float]

    def left(self) -> float:
        """Seconds left; TimeoutError if there are none."""
        left = self.at - self.clock()
        if left <= 0:
            raise TimeoutError
        return left


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
) -> bytes:
    """The body of the reply; PassingError if another try may help, ModelError otherwise."""
    deadline = Deadline(clock() + timeout_s, clock)
    request = urllib.request.Request(url, body, dict(headers))
    try:
        with _opener(url, deadline).open(request, timeout=timeout_s) as response:
            return _read(url, response)
    except urllib.error.HTTPError as error:  # does not show the body, which may repeat the request
        error.close()
        if error.code in PASSING:
            raise PassingError(f"status {error.code}", _retry_after_s(error)) from None
        raise StatusError(
            f"{url} replied with status {error.code}{_advice(error.code)}", error.code
        ) from None
    except (OSError, http.client.HTTPException) as error:
        raise _mapped(url, error, timeout_s) from None


def _read(url: str, response: http.client.HTTPResponse) -> bytes:
    stated = response.length
    data = b""
    while piece := response.read(PIECE):
        data += piece
        if len(data) > LARGEST_REPLY:
            raise ModelError(f"{url} replied with more than {LARGEST_REPLY} bytes, too many for an answer")
    if stated is not None and len(data) < stated:
        raise PassingError(f"the reply was truncated after {len(data)} of {stated} bytes")
    return data


def _mapped(url: str, error: Exception, timeout_s: float) -> Exception:
    reason = getattr(error, "reason", error)
    if isinstance(reason, ssl.SSLCertVerificationError):
        return ModelError(
            f"{url} has a certificate that is not valid here ({reason.verify_message}); fix it, or name the "
            "authority's file in SSL_CERT_FILE"
        )
    if isinstance(reason, TimeoutError):
        return PassingError(f"TimeoutError, no complete reply within {timeout_s:g} s")
    if isinstance(reason, http.client.IncompleteRead):
        return PassingError("the reply was truncated")
    return PassingError(type(reason).__name__ if isinstance(reason, Exception) else "no connection")


def _retry_after_s(error: urllib.error.HTTPError) -> float:
    """Seconds in Retry-After, 0 for a date or none (RFC 9110, section 10.2.3)."""
    text = str(error.headers.get("Retry-After", "")).strip()
    return float(text) if re.fullmatch("[0-9]{1,6}", text) else 0.0


def _advice(status: int) -> str:
    if status in (401, 403):
        return "; set TREX_MODEL_TOKEN to a secret that the server accepts"
    if status == 407:
        return "; the proxy needs a password: put it into https_proxy"
    return "; redirects are not followed: give the final address" if 300 <= status < 400 else ""


def _opener(url: str, deadline: Deadline) -> urllib.request.OpenerDirector:
    handlers: list[urllib.request.BaseHandler] = [_NoRedirects(), _Http(deadline), _Https(deadline)]
    if is_loopback(url):  # a proxy would receive the request, and its secret, unencrypted
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, which would carry the secret to another address."""

    def redirect_request(self, *args: object) -> None:
        return None


class _Http(urllib.request.HTTPHandler):
    """Opens http:// with connections that keep the deadline."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self.deadline = deadline

    def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """The reply's head, with its body still unread."""
        return self.do_open(partial(_kept_to, self.deadline, _Connection), request)


class _Https(urllib.request.HTTPSHandler):
    """Opens https:// with connections that keep the deadline; checks certificates."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self.deadline = deadline

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        """The reply's head, with its body still unread."""
        return self.do_open(partial(_kept_to, self.deadline, _TlsConnection), request)


class _Connection(http.client.HTTPConnection):
    """Limits every wait, while connecting, sending or reading, to the time left in total."""

    deadline: Deadline

    def connect(self) -> None:
        """Connect, through a proxy's tunnel if there is one."""
        self.timeout = self.deadline.left()
        super().connect()
        self.sock.settimeout(self.deadline.left())  # a TLS handshake comes next

    def send(self, data: Any) -> None:
        """Send all of these bytes."""
        if self.sock is None:
            self.connect()
        rest = memoryview(data)
        while rest:
            self.sock.settimeout(self.deadline.left())
            rest = rest[self.sock.send(rest) :]


class _TlsConnection(http.client.HTTPSConnection, _Connection):
    """The same over TLS, which `HTTPSConnection.connect` adds to the connection of `_Connection.connect`."""


def _kept_to(deadline: Deadline, kind: type[_Connection], host: str, **options: Any) -> _Connection:
    """A connection of this kind, not opened yet, that keeps the deadline."""
    connection = kind(host, **options)
    connection.deadline = deadline
    connection.response_class = cast(Any, partial(_Response, deadline))
    return connection


class _Response(http.client.HTTPResponse):
    """A reply whose every byte, including its head, is read within the deadline."""

    def __init__(self, deadline: Deadline, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_Timed(sock, deadline))


class _Timed(io.RawIOBase):
    """The bytes of a socket; TimeoutError at the deadline, even if bytes keep trickling in."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock, self._deadline = sock, deadline
        self._raw = sock.makefile("rb", buffering=0)  # keeps the socket open while it is read

    def readable(self) -> bool:
        """Always True."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """The number of bytes read, 0 at the end."""
        self._sock.settimeout(self._deadline.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        """Release the socket."""
        self._raw.close()
        super().close()
