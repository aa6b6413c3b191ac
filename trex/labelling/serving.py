"""Serving a poll on this machine until Ctrl-C."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from trex.foundation.words import counted
from trex.labelling.poll import Poll
from trex.labelling.shown import Shown
from trex.labelling.vote_log import VOTES
from trex.monitor.serve import LOOPBACK, check_address, check_installed, run_app

if TYPE_CHECKING:
    from trex.monitor.serve_guard import Access

ADDRESS, PORT = LOOPBACK[1], 8322


class Address(NamedTuple):
    """Where a poll is served, on this machine, and the token that is asked for."""

    port: int
    token: str


def check_serving(command: str, port: int | None, token: str | None) -> Address:
    """The given port and token, or else 8322 and a fresh token.

    InputError for a short token, a wrong port, or a `command` whose packages are not installed.
    """
    check_installed(command)
    address = Address(PORT if port is None else port, token or secrets.token_urlsafe(24))
    check_address(ADDRESS, *address)
    return address


def label_access(token: str) -> Access:
    """The rules: the token is asked for, and the server answers under no name but those of this machine."""
    from trex.monitor.serve_guard import Access

    return Access(token, LOOPBACK)


def address_of(listening: socket.socket, token: str) -> str:
    """The address of the login; browsers keep what follows # to themselves."""
    return f"http://{ADDRESS}:{listening.getsockname()[1]}/login#{quote(token, safe='')}"


def serve_poll(poll: Poll, listening: socket.socket, token: str) -> dict[str, int]:
    """Serve until Ctrl-C; returns how many votes of each annotator stand."""
    from trex.labelling.label_app import make_label_app

    try:
        with suppress(KeyboardInterrupt):
            run_app(make_label_app(poll, label_access(token)), listening)
    finally:
        cast = poll.close()
    return cast


def served_words(cast: Mapping[str, int], shown: Shown, place: Path) -> str:
    """How many votes there are in the folder of a poll, and the commands that continue."""
    pictures = len(shown.pictures)
    each = "".join(f"  {annotator}: {count} of {pictures:,}\n" for annotator, count in cast.items())
    return (
        f"{counted(sum(cast.values()), 'vote')} of {counted(len(cast), 'annotator')} in {place / VOTES}\n{each}"
        f"count them: {shown.survey.count}\n"
        f"go on labelling: {shown.survey.serve}"
    )
