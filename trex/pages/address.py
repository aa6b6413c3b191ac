"""Where a small web server listens."""

from __future__ import annotations

import ipaddress
import socket

from trex.foundation.errors import InputError, RunError
from trex.foundation.extensions import import_extra

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


def check_installed(command: str = "trex queue serve") -> None:
    """Raise InputError if the packages of the web server, which this command needs, are missing."""
    for module in ("fastapi", "uvicorn"):
        import_extra(module, "farm", f"{command} needs {module}")
