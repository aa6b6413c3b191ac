"""The pages on which people label pictures: one picture a page, plain forms."""

from __future__ import annotations

import logging
from urllib.parse import parse_qs, urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from trex.foundation.errors import InputError
from trex.labelling.poll import Poll
from trex.labelling.polls import PNG
from trex.labelling.votes import UnsavedVote, Vote, check_pseudonym
from trex.pages.address import LOOPBACK
from trex.pages.page import page
from trex.pages.web import READ, Guard, add_static, guarded

log = logging.getLogger(__name__)
STATIC = {
    "serve.css": "text/css",
    "label.css": "text/css",
    "label.js": "text/javascript",
}
FORM_BYTES = 4096  # size limit of a form
SAME_ORIGIN = {
    "referrer-policy": "same-origin"
}  # under "no-referrer" browsers send forms with the origin null


def make_label_app(poll: Poll, token: str) -> Guard:
    """All pages of a poll, for those who have the token, under no host name but those of this machine."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    for kind in (HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _refused)
    app.add_exception_handler(InputError, lambda request, error: _problem(request, error, 400))
    app.add_exception_handler(UnsavedVote, _unsaved)
    _add_pages(app, poll)
    _add_votes(app, poll)
    _add_files(app, poll)
    add_static(app, STATIC)
    return guarded(app, token, LOOPBACK)


def _add_pages(app: FastAPI, poll: Poll) -> None:
    labels = _example_names(poll)

    @app.api_route("/", methods=READ)
    def start() -> Response:
        return _html(
            page("label_start.html", {"pictures": len(poll.shown.pictures), "survey": poll.shown.survey})
        )

    @app.api_route("/people", methods=READ)
    def enter(annotator: str = "") -> Response:
        return _to(check_pseudonym(annotator.strip()))

    @app.api_route("/people/{annotator}", methods=READ)
    def turn(annotator: str) -> Response:
        at = poll.turn(check_pseudonym(annotator))
        values: dict[str, object] = {
            "annotator": annotator,
            "turn": at,
            "survey": poll.shown.survey,
            "caption": poll.shown.captions.get(at.picture, ""),
            "examples": {label: f"/examples/{name}" for name, label in labels.items()},
        }
        return _html(page("label.html", values))


def _add_votes(app: FastAPI, poll: Poll) -> None:
    @app.post("/people/{annotator}/votes")
    async def vote(request: Request, annotator: str) -> Response:
        form = await _own_form(request)
        cast = Vote(annotator=annotator, picture=form.get("picture", ""), label=form.get("label", ""))
        return await _saved(poll, cast)

    @app.post("/people/{annotator}/undo")
    async def undo(request: Request, annotator: str) -> Response:
        form = await _own_form(request)
        return await _saved(poll, Vote(annotator=annotator, picture=form.get("picture", ""), label=None))


def _add_files(app: FastAPI, poll: Poll) -> None:
    @app.api_route("/pictures/{name}", methods=READ)
    def picture(name: str) -> Response:
        png = poll.shown.pictures.get(name.removesuffix(PNG)) if name.endswith(PNG) else None
        if png is None:
            raise HTTPException(404)
        return Response(png, media_type="image/png")

    labels = _example_names(poll)

    @app.api_route("/examples/{name}", methods=READ)
    def example(name: str) -> Response:
        if name not in labels:
            raise HTTPException(404)
        return Response(poll.shown.examples[labels[name]], media_type="image/png")


def _example_names(poll: Poll) -> dict[str, str]:
    """The label of each example by the name under which it is served."""
    return {f"{number:03}{PNG}": label for number, label in enumerate(poll.shown.examples)}


async def _saved(poll: Poll, vote: Vote) -> Response:
    """The next picture, once the vote is on the disk."""
    await run_in_threadpool(poll.vote, vote)
    return _to(vote.annotator)


async def _own_form(request: Request) -> dict[str, str]:
    """The fields of a form of this server; HTTPException 403 if a page elsewhere has sent it, 413 if too large."""
    if not is_same_origin(request):
        raise HTTPException(403)
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > FORM_BYTES:
            raise HTTPException(413)
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


def is_same_origin(request: Request) -> bool:
    """Whether a browser says that the request comes from a page of this server."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site not in (None, "same-origin"):
        return False
    if origin is None:
        return site == "same-origin"
    try:
        return urlsplit(origin).netloc == request.headers.get("host", "")
    except ValueError:  # an address that is none, such as http://[::1
        return False


def _to(annotator: str) -> Response:
    return RedirectResponse(f"/people/{annotator}", status_code=303)


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(text, status, SAME_ORIGIN)


def _unsaved(request: Request, error: Exception) -> Response:
    """Reports the unsaved vote to the annotator and on the server's terminal."""
    log.error("%s", error)
    return _problem(request, error, 503)


def _problem(request: Request, error: Exception, status: int) -> Response:
    """What is wrong, and the way back."""
    back = request.url.path.removesuffix("/votes").removesuffix("/undo")
    is_known = back.startswith("/people/") and request.method == "POST"
    return _html(page("label_problem.html", {"error": str(error), "back": back if is_known else "/"}), status)


def _refused(_request: Request, error: Exception) -> Response:
    """A short text for what no form of these pages asks for."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    words = {403: "a vote must come from a page of this server\n", 404: "not found\n"}
    return PlainTextResponse(words.get(status, "bad request\n"), status_code=status)
