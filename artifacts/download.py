"""Downloads of published files, checked by sha256."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from pathlib import Path

from trex.artifacts.card import check_sha256
from trex.foundation.errors import ModelError

TIMEOUT_S = 60.0
LARGEST_BYTES = 64 * 2**20


def download(url: str, sha256: str, by_hand: str) -> bytes:
    """The file at a URL; ModelError if the network fails, InputError if its sha256 differs.

    `by_hand` describes the manual download.
    """
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:
            data: bytes = response.read(LARGEST_BYTES)
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise ModelError(f"{url} could not be fetched ({error}); try again, or {by_hand}") from error
    check_sha256(Path(url.rsplit("/", 1)[-1]), data, sha256)
    return data
