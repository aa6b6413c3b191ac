"""The address of a model behind a web service: its checks, and whether it is this machine."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

from trex.foundation.errors import InputError
from trex.foundation.json_fields import short

URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")  # a text with this prefix is an address, whatever the scheme
SCHEMES = ("http", "https")
SIGNS = re.compile(r"[A-Za-z0-9._~:/\[\]!$&'()*+,;=%-]+")  # RFC 3986, without signs that introduce secrets
LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
LONGEST_URL, LONGEST_HOST = 2000, 253
GIVE = "give http(s)://HOST[:PORT]/PATH"


def split_address(url: str, secret: str = "TREX_MODEL_TOKEN") -> SplitResult:
    """The parts of a valid address; InputError if no request can go there, or if it might expose a secret.

    `secret` is the environment variable that errors recommend for one.
    """
    if set("@?#") & set(url):
        raise InputError(  # does not repeat the URL, which may contain a secret
            "the address of a model must be http(s)://HOST/PATH, without user, password or ?query: every run stores "
            f"it. Put a secret into the environment variable {secret}"
        )
    if len(url) > LONGEST_URL:
        raise InputError(f"the address of the model has {len(url)} characters; the limit is {LONGEST_URL}")
    strange = next((sign for sign in url if not SIGNS.fullmatch(sign)), None)
    if strange is not None:
        raise InputError(
            f"the address of the model holds {strange!r}, which is not allowed; write it as %XX in the path, and a "
            "host name in ASCII (xn--...)"
        )
    if not url.lower().startswith(tuple(f"{scheme}://" for scheme in SCHEMES)):
        raise InputError(
            f"the address of the model, {short(url)}, does not begin with http:// or https://; {GIVE}"
        )
    return _split(url)


def check_secret(name: str, secret: str) -> None:
    """InputError, without the secret, if that of the environment variable `name` fits in no HTTP header."""
    if not secret.isprintable() or not secret.isascii():
        raise InputError(f"{name} contains characters that are not allowed in an HTTP header; correct it")
    if secret != secret.strip():
        raise InputError(f"{name} begins or ends with a space, which no HTTP header can hold; remove it")


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InputError(
            f"the address of the model is invalid ({error}); {GIVE} with a port from 1 to 65535"
        ) from error
    if port == 0:
        raise InputError(f"the address of the model, {short(url)}, has port 0; give a port from 1 to 65535")
    if not host or not _is_possible(host, is_bracketed="[" in parts.netloc):
        raise InputError(
            f"the address of the model has the host {short(host or '')}, which is not a valid host name; {GIVE}"
        )
    return parts


def _is_possible(host: str, *, is_bracketed: bool) -> bool:
    labels = host.removesuffix(".").split(".")
    if is_bracketed or labels[-1].isdigit():  # no top-level domain is a number
        try:
            number = ipaddress.ip_address(host)
        except ValueError:
            return False
        return not (number.is_unspecified or number.is_multicast or host == "255.255.255.255")
    return len(host) <= LONGEST_HOST and all(map(LABEL.fullmatch, labels))


def is_loopback(url: str) -> bool:
    """Whether requests to this address stay on the machine: localhost, 127.0.0.0/8 and ::1."""
    host = urlsplit(url).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
