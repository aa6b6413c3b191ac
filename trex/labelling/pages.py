"""The page of a poll: served until Ctrl-C, or as one file without network, whose answers are downloaded."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from trex.foundation.files import HTML, check_file_out, write_atomic
from trex.foundation.words import counted
from trex.labelling.poll import Poll
from trex.labelling.survey import Shown
from trex.labelling.votes import VOTES, VoteLog
from trex.pages.address import LOOPBACK, check_address, check_installed, listen
from trex.pages.page import TEMPLATES, page
from trex.render.png_url import url_of_png
from trex.repair.votes_file import COLUMNS

ADDRESS, PORT = LOOPBACK[1], 8322
SCRIPTS, STYLES = ("label.js", "label_export.js"), ("serve.css", "label.css")


class Address(NamedTuple):
    """Where a poll is served, on this machine, and the token that it needs."""

    port: int
    token: str


def check_serving(port: int | None, token: str | None) -> Address:
    """The given port and token, or else 8322 and a fresh token.

    InputError for a short token, a wrong port, or packages that are not installed.
    """
    check_installed("trex label --serve")
    address = Address(PORT if port is None else port, token or secrets.token_urlsafe(24))
    check_address(ADDRESS, *address)
    return address


def serve(folder: Path, shown: Shown, address: Address, note: Callable[[str], None]) -> dict[str, int]:
    """Serve a poll, whose votes lie in this folder, until Ctrl-C; returns how many votes of each annotator stand."""
    from trex.labelling.label_app import make_label_app
    from trex.pages.web import run_app

    with listen(ADDRESS, address.port) as listening:
        poll = Poll(shown, VoteLog(folder, shown))
        note(f"labeling {folder} at {_url(listening, address.token)} (Ctrl-C to stop)")
        try:
            with suppress(KeyboardInterrupt):
                run_app(make_label_app(poll, address.token), listening)
        finally:
            cast = poll.close()
        return cast


def _url(listening: socket.socket, token: str) -> str:
    """The address of the pages, with the token as the password of a user of any name."""
    return f"http://trex:{quote(token, safe='')}@{ADDRESS}:{listening.getsockname()[1]}/"


def votes_words(cast: Mapping[str, int], shown: Shown, place: Path) -> str:
    """How many votes there are in the folder of a poll, and the commands that continue."""
    pictures = len(shown.pictures)
    each = "".join(f"  {annotator}: {count} of {pictures:,}\n" for annotator, count in cast.items())
    count, go_on = (
        (f"count them: {shown.survey.count}\n", "go on labeling") if cast else ("", "people label with")
    )
    return (
        f"{counted(sum(cast.values()), 'vote')} of {counted(len(cast), 'annotator')} in {place / VOTES}\n{each}"
        f"{count}{go_on}: {shown.survey.serve}"
    )


def check_page_path(path: Path) -> None:
    """InputError if no page can be written there."""
    check_file_out(path, "--export", HTML)


def write_page(path: Path, shown: Shown) -> None:
    """Write the page with all pictures in it."""
    write_atomic(path, export_page(shown).encode())


def export_page(shown: Shown) -> str:
    """The page: names, pictures and classes, and the key of the orders."""
    pictures = [[name, url_of_png(png), shown.captions.get(name, "")] for name, png in shown.pictures.items()]
    material = {
        "key": shown.key,
        "columns": COLUMNS,
        "question": shown.survey.question,
        "pictures": pictures,
    }
    values: dict[str, object] = {
        "material": Markup(json.dumps(material).replace("<", "\\u003c")),
        "survey": shown.survey,
        "examples": {label: url_of_png(png) for label, png in shown.examples.items()},
        "pictures": len(pictures),
        "style": _joined(STYLES),
        "script": _joined(SCRIPTS),
    }
    return page("label_export.html", values)


def _joined(names: tuple[str, ...]) -> Markup:
    return Markup("\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names))
