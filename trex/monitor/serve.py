"""`trex serve`: read-only pages of a runs folder, for this machine only or for clients with the token."""

from __future__ import annotations

import ipaddress
import resource
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from trex.foundation.errors import InputError, RunError
from trex.foundation.extensions import import_extra

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from trex.monitor.serve_guard import Access

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
MIN_TOKEN_LENGTH = 16  # characters of a token


def check_address(host: str, port: int, token: str | None) -> str:
    """The IP address to listen on; InputError if other machines could connect without a token."""
    if not 0 <= port <= 65535:
        raise InputError(f"--port {port} is not a port; give 1 to 65535, or 0 for any free port")
    if token is not None and len(token) < MIN_TOKEN_LENGTH:
        raise InputError(
            f"the token has only {len(token)} characters; give at least {MIN_TOKEN_LENGTH}, "
            "e.g. the output of: openssl rand -hex 16"
        )
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        raise InputError(
            f"--host {host!r} is not an IP address; give one of this machine, or 0.0.0.0 for all of its addresses"
        ) from None
    if not address.is_loopback and token is None:
        raise InputError(
            f"other machines can reach {host}: set a token in TREX_TOKEN, or omit --host to serve only this machine"
        )
    return str(address)


def listen(address: str, port: int) -> socket.socket:
    """A listening TCP socket at the address; RunError if the system refuses it."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise RunError(
            f"cannot listen on {address} port {port}: {error.strerror}; give another --port or --host"
        ) from error
    return listening


def check_installed(command: str = "trex serve") -> None:
    """Raise InputError if the packages of the web server, which this command needs, are missing."""
    for module in ("fastapi", "uvicorn"):
        import_extra(module, "farm", f"{command} needs {module}")


def serve(runs: Path, listening: socket.socket, token: str | None) -> None:
    """Serve until Ctrl-C."""
    from trex.monitor.serve_app import make_app

    run_app(make_app(runs, access_rules(token, listening.getsockname()[0])), listening)


def run_app(app: ASGIApp, listening: socket.socket) -> None:
    """Answer requests until Ctrl-C. Requests are not logged, so that no log contains a token."""
    import uvicorn

    allow_many_connections()
    uvicorn.Server(server_config(app)).run(sockets=[listening])


def server_config(app: ASGIApp) -> uvicorn.Config:
    """The web server's configuration: no request log, and a time limit for every request."""
    import uvicorn

    from trex.monitor.serve_protocol import ImpatientProtocol

    return uvicorn.Config(
        app,
        http=ImpatientProtocol,
        access_log=False,
        log_level="error",  # no warning for each malformed request
        server_header=False,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=5,
    )


def access_rules(token: str | None, address: str) -> Access:
    """The rules: with a token, any request that has it; without, only requests whose Host is a loopback name."""
    from trex.monitor.serve_guard import Access

    return Access(token, (*LOOPBACK, address) if token is None else ())


def allow_many_connections() -> None:
    """Raise this process's limit of open files to its hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
