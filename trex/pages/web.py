"""A small web server: its address, who may use it, and the headers of its answers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import resource
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from starlette.authentication import (
    AuthCredentials,
    AuthenticationBackend,
    AuthenticationError,
    SimpleUser,
)
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, Response

from trex.pages.page import TEMPLATES

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

log = logging.getLogger(__name__)

READ = ["GET", "HEAD"]
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
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


def guarded(app: Starlette, token: str | None, hosts: Sequence[str]) -> Guard:
    """The app, for requests with the token (None: for all) that name one of these hosts (none: any).

    A foreign page can point its own host name at 127.0.0.1: without a token, only loopback names are safe.
    """
    if token is not None:
        app.add_middleware(AuthenticationMiddleware, backend=Token(token), on_error=_ask_for_token)
    if hosts:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False)
    return Guard(app)


def add_static(app: FastAPI, kinds: Mapping[str, str]) -> None:
    """Add these files of the templates, each of a media type, and the empty icon that satisfies browsers."""

    @app.api_route("/favicon.ico", methods=READ)
    def icon() -> Response:
        return Response(status_code=204)

    @app.api_route("/static/{name}", methods=READ)
    def static(name: str) -> Response:
        if name not in kinds:
            raise HTTPException(404)
        return Response((TEMPLATES / name).read_bytes(), media_type=kinds[name])


class Token(AuthenticationBackend):
    """Admits requests with `Authorization: Bearer TOKEN`, or Basic with the token as the password, as browsers send."""

    def __init__(self, token: str) -> None:
        self._digest = _digest(token)

    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser]:
        """AuthenticationError without the token, which is compared in constant time."""
        if not hmac.compare_digest(_digest(given_token(conn.headers.get("authorization", ""))), self._digest):
            raise AuthenticationError("token required")
        return AuthCredentials(), SimpleUser("holder of the token")


class Guard:
    """Adds the security headers that an answer lacks, and logs a failure as one line."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except Exception as error:  # the application has answered with 500 by now
            log.error("the request of %.200r failed: %.300r", scope.get("path"), error)


def given_token(authorization: str) -> str:
    """The token in an Authorization header; "" if there is none."""
    kind, _, given = authorization.partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(given, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _digest(text: str) -> bytes:
    """A hash of fixed length, so that comparing it reveals nothing about the text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _ask_for_token(_conn: HTTPConnection, error: Exception) -> Response:
    """A browser prompts for a user name, which may be any, and the token as the password."""
    return PlainTextResponse(
        f"{error}\n", 401, {"www-authenticate": 'Basic realm="the token is the password", charset="UTF-8"'}
    )


def run_app(app: ASGIApp, listening: socket.socket) -> None:
    """Answer requests until Ctrl-C. Requests are not logged, so that no log contains a token."""
    import uvicorn

    allow_many_connections()
    uvicorn.Server(server_config(app)).run(sockets=[listening])


def server_config(app: ASGIApp) -> uvicorn.Config:
    """The web server's configuration: no request log, and no warning for each malformed request."""
    import uvicorn

    return uvicorn.Config(
        app, access_log=False, log_level="error", server_header=False, timeout_graceful_shutdown=1
    )


def allow_many_connections() -> None:
    """Raise this process's limit of open files to its hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
