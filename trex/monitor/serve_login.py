"""The login of a server: a form that takes the token and gives a session in exchange."""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.exceptions import HTTPException

from trex.monitor.serve_guard import COOKIE, LOGIN, Access
from trex.pages.page import page

READ = ["GET", "HEAD"]
FORM_BYTES = 4096  # size limit of a form
SESSION_S = 12 * 3600


def add_login(app: FastAPI, access: Access, command: str) -> None:
    """The login page; `command` is the one that was given the token."""

    def login(is_wrong: bool) -> Response:
        text = page("serve_login.html", {"is_wrong": is_wrong, "command": command})
        return HTMLResponse(text, status_code=401 if is_wrong else 200)

    @app.api_route(LOGIN, methods=READ)
    def ask() -> Response:
        return login(False)

    @app.post(LOGIN)
    async def take(request: Request) -> Response:
        given = (await read_form(request)).get("token", "")
        if not access.is_token(given):
            return login(True)
        answer = RedirectResponse("/", status_code=303)
        secure = request.headers.get("x-forwarded-proto") == "https"
        answer.set_cookie(
            COOKIE, access.session, max_age=SESSION_S, httponly=True, samesite="strict", secure=secure
        )
        return answer


async def read_form(request: Request) -> dict[str, str]:
    """The first value of each field of a form; HTTPException 413 if the form is larger than `FORM_BYTES`."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > FORM_BYTES:
            raise HTTPException(413)
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
