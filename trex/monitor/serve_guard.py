"""The guard of every request: checks the host and the token, and adds security headers to every answer."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # fastapi is an extra
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)

COOKIE = "trex_session"
LOGIN = "/login"
# A sandboxed page has no origin, so its links carry no strict cookie: this page repeats the request from here.
AGAIN = '<!doctype html><meta http-equiv="refresh" content="0"><title>bayes-trex</title>'
OPEN = (LOGIN, "/static/serve.css", "/static/login.js")  # served without a token
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_CSP = (  # a report is one file with its own script, which the sandbox isolates from the pages here
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts allow-downloads"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Access:
    """Access rules: the token (None: no token is required), and the accepted host names (empty: any).

    A foreign page can point its own host name at 127.0.0.1, so without a token the host has to be a loopback name.
    Wrong tokens are not counted: a token is too long to be guessed, and others could lock its owner out.
    """

    token: str | None
    hosts: tuple[str, ...] = ()
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    def is_token(self, given: str) -> bool:
        """Whether this is the token; compares in constant time."""
        return self.token is not None and hmac.compare_digest(_digest(given), _digest(self.token))

    def admits(self, authorization: str, cookies: str) -> bool:
        """Whether a request with these headers is authorized."""
        if self.token is None or self.is_token(bearer(authorization)):
            return True
        return hmac.compare_digest(_digest(_cookie(cookies)), _digest(self.session))

    def allows_host(self, host: str) -> bool:
        """Whether a request may name this host."""
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        return not self.hosts or name.lower() in self.hosts


class Guard:
    """Middleware in front of the pages; adds the security headers that an answer lacks."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request and pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _with_headers(send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if not self._access.allows_host(headers.get("host", "")):
            await _respond(answer, 421, "this server does not answer under that host name\n")
        elif scope["path"] in OPEN or self._access.admits(
            headers.get("authorization", ""), headers.get("cookie", "")
        ):
            try:
                await self._app(scope, receive, answer)
            except Exception as error:  # the application has answered with 500 by now
                log.error("the request of %.200r failed: %.300r", scope["path"], error)
        elif bearer(headers.get("authorization", "")):
            await _respond(answer, 401, "token required\n", [(b"www-authenticate", b"Bearer")])
        elif headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") == "navigate":
            await _respond(answer, 200, AGAIN, [], "text/html; charset=utf-8")
        elif "text/html" in headers.get("accept", ""):
            await _respond(answer, 303, "", [(b"location", LOGIN.encode())])
        else:
            await _respond(answer, 401, "token required\n", [(b"www-authenticate", b"Bearer")])


def bearer(authorization: str) -> str:
    """The token of an Authorization header; "" if there is none."""
    kind, _, given = authorization.partition(" ")
    return given.strip() if kind.lower() == "bearer" else ""


def _with_headers(send: Send) -> Send:
    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            more = [
                (name.encode(), value.encode())
                for name, value in HEADERS.items()
                if name.encode() not in given
            ]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return answer


async def _respond(
    send: Send,
    status: int,
    text: str,
    headers: Sequence[tuple[bytes, bytes]] = (),
    kind: str = "text/plain; charset=utf-8",
) -> None:
    body = text.encode()
    own = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": body})


def _digest(text: str) -> bytes:
    """A hash of fixed length, so that comparing it reveals nothing about the text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""
