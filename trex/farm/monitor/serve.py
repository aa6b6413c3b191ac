"""The pages of `trex queue serve`: queue, live runs, finished reports, counters. All of them are read-only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Generic, TypeVar

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from trex.farm.monitor.files import PICTURE_NAME, chunks, is_plain, open_below
from trex.farm.monitor.metrics import CONTENT_TYPE, metrics
from trex.farm.monitor.overview import Overview, overview
from trex.farm.monitor.shelf import HTML, Item, shelf
from trex.farm.monitor.views import live_json, queue_page, run_page, shelf_page
from trex.foundation.errors import TrexError
from trex.pages.address import LOOPBACK
from trex.pages.web import READ, Guard, add_static, guarded
from trex.runs.folder import REPORT
from trex.runs.picture_files import DamagedPicture, read_stored

STATIC = {"serve.css": "text/css", "serve.js": "text/javascript"}
REFRESH_S = 1.0  # between two reads of the runs folder, for all browsers together
REPORT_CSP = (  # a report is one file with its own script, which the sandbox isolates from the pages here
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts allow-downloads"
)
QUIET = 15  # reads without a change before a comment keeps the connection alive
Clock = Callable[[], float]
Snapshot = TypeVar("Snapshot")


class Watched(Generic[Snapshot]):
    """The latest snapshot of the runs folder, taken at most once a second for all browsers."""

    def __init__(self, make: Callable[[], Snapshot]) -> None:
        self._make = make
        self._lock = asyncio.Lock()
        self._taken_at = float("-inf")
        self._snapshot: Snapshot | None = None

    async def current(self) -> Snapshot:
        """The snapshot, at most one second old."""
        async with self._lock:
            if self._snapshot is None or time.monotonic() - self._taken_at >= REFRESH_S:
                self._snapshot = await run_in_threadpool(self._make)
                self._taken_at = time.monotonic()
            return self._snapshot


def make_app(runs: Path, token: str | None, address: str, clock: Clock = time.time) -> Guard:
    """All pages of a runs folder, served at this IP address."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False)
    for kind in (HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _not_found)
    app.add_exception_handler(TrexError, _unreadable_queue)
    _add_pages(app, runs, Watched(lambda: overview(runs, clock(), 0)), clock)
    _add_shelf(app, runs, Watched(lambda: shelf(runs)))
    _add_files(app, runs)
    add_static(app, STATIC)
    return guarded(app, token, (*LOOPBACK, address) if token is None else ())


def _add_pages(app: FastAPI, runs: Path, watched: Watched[Overview], clock: Clock) -> None:
    @app.api_route("/", methods=READ)
    async def index(state: str = "", number: Annotated[int, Query(alias="page")] = 1) -> Response:
        snapshot = await watched.current()
        return _html(await run_in_threadpool(queue_page, runs, snapshot, state, number))

    @app.api_route("/runs/{name}", methods=READ)
    def run(name: str) -> Response:
        return _html(run_page(runs, name, clock()))

    @app.api_route("/events", methods=READ)
    async def events(request: Request) -> Response:
        if request.method == "HEAD":  # the event stream never ends
            return Response(media_type="text/event-stream")
        return StreamingResponse(_events(watched), media_type="text/event-stream")

    @app.api_route("/metrics", methods=READ)
    async def counters() -> Response:
        return Response(metrics(await watched.current()), media_type=CONTENT_TYPE)


def _add_shelf(app: FastAPI, runs: Path, watched: Watched[tuple[Item, ...]]) -> None:
    @app.api_route("/all", methods=READ)
    async def everything(number: Annotated[int, Query(alias="page")] = 1) -> Response:
        items = await watched.current()
        return _html(await run_in_threadpool(shelf_page, runs, items, number))

    @app.api_route("/files/{path:path}", methods=READ)
    def file(path: str) -> Response:
        """A page at its own path, so that relative links between pages keep working."""
        if not path.endswith(HTML):
            raise HTTPException(404)
        headers = {"content-security-policy": REPORT_CSP}
        return _file(runs, "text/html; charset=utf-8", headers, *path.split("/"))


def _add_files(app: FastAPI, runs: Path) -> None:
    @app.api_route("/runs/{name}/report", methods=READ)
    def report(name: str) -> Response:
        headers = {"content-security-policy": REPORT_CSP}
        return _file(runs, "text/html; charset=utf-8", headers, name, REPORT)

    @app.api_route("/runs/{name}/pictures/{picture}", methods=READ)
    def picture(name: str, picture: str) -> Response:
        if not PICTURE_NAME.fullmatch(picture):
            raise HTTPException(404)
        if not is_plain(name) or (runs / name).is_symlink():
            raise HTTPException(404)
        try:
            return Response(
                read_stored(runs / name, picture.removesuffix(".png")).png, media_type="image/png"
            )
        except DamagedPicture as error:
            raise HTTPException(404) from error


async def _events(watched: Watched[Overview]) -> AsyncIterator[str]:
    """Server-sent events: the live part of the page whenever it changes, and an occasional comment."""
    before, quiet = "", 0
    while True:
        with suppress(TrexError):  # the queue is unreadable just now
            now = live_json(await watched.current())
            quiet = 0 if now != before else quiet + 1
            if now != before:
                yield f"data: {now}\n\n"
            before = now
        if quiet == QUIET:
            quiet = 0
            yield ": still here\n\n"
        await asyncio.sleep(REFRESH_S)


def _file(runs: Path, kind: str, headers: dict[str, str], *names: str) -> Response:
    file = open_below(runs, *names)
    if file is None:
        raise HTTPException(404)
    return StreamingResponse(chunks(file), media_type=kind, headers=headers)


def _html(text: str | None) -> Response:
    if text is None:
        raise HTTPException(404)
    return HTMLResponse(text)


def _not_found(_request: Request, error: Exception) -> Response:
    """The same short text for every missing page."""
    status = error.status_code if isinstance(error, HTTPException) else 404
    return PlainTextResponse("not found\n" if status == 404 else "bad request\n", status_code=status)


def _unreadable_queue(_request: Request, _error: Exception) -> Response:
    """The queue is unreadable; `trex queue list` shows the operator why."""
    return PlainTextResponse("the queue is unreadable at the moment\n", status_code=503)
