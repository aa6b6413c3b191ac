"""Downloads of large published files, which resume after an interruption."""

from __future__ import annotations

import http
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from trex.foundation.errors import ModelError
from trex.foundation.files import read_text

TIMEOUT_S = 60.0
CHUNK = 2**20
LARGEST_BYTES = 4 * 2**30
Progress = Callable[[int, int | None], None]  # bytes so far, and in total if known


def no_progress(done: int, total: int | None) -> None:
    """Ignore progress."""


class _Begun(NamedTuple):
    """The part of a file downloaded so far: its bytes, and the server's version tag."""

    size: int
    etag: str


def download_to(url: str, path: Path, by_hand: str, progress: Progress = no_progress) -> Path:
    """Download a URL to `path`, whole or not at all; ModelError explains how to resume.

    The bytes so far stay beside it as .part. The download resumes only if the server confirms (by ETag) that its
    file is unchanged.
    """
    part, mark = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.part.etag")
    begun = _begun(part, mark)
    again = "run the same command again to go on where it ended"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        total = _fetch(_request(url, begun), part, mark, begun, progress)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink(missing_ok=True)  # the next attempt starts again
        raise ModelError(
            f"{url} was refused by the server ({error.code} {error.reason}); {by_hand}"
        ) from error
    except (OSError, http.client.HTTPException) as error:
        raise ModelError(f"{url} could not be fetched ({error}); {again}, or {by_hand}") from error
    found = part.stat().st_size
    if total is not None and found != total:
        raise ModelError(f"{url} was cut off after {found} of {total} bytes; {again}, or {by_hand}")
    part.replace(path)
    mark.unlink(missing_ok=True)
    return path


def _begun(part: Path, mark: Path) -> _Begun:
    if not part.is_file() or not mark.is_file():
        return _Begun(0, "")
    return _Begun(part.stat().st_size, read_text(mark, limit=1 << 16, error=ModelError))


def _request(url: str, begun: _Begun) -> urllib.request.Request:
    headers = {"Range": f"bytes={begun.size}-", "If-Range": begun.etag} if begun.size and begun.etag else {}
    return urllib.request.Request(url, headers=headers)


def _fetch(
    request: urllib.request.Request, part: Path, mark: Path, begun: _Begun, progress: Progress
) -> int | None:
    """Append to the part, or start again; return the size of the whole file if the server reports it."""
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        goes_on = response.status == http.HTTPStatus.PARTIAL_CONTENT
        done = begun.size if goes_on else 0
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdigit() else None
        mark.write_text(response.headers.get("ETag", ""))
        with part.open("ab" if goes_on else "wb") as stream:
            while chunk := response.read(CHUNK):
                stream.write(chunk)
                done += len(chunk)
                if done > LARGEST_BYTES:
                    raise ModelError(
                        f"{request.full_url} sends more than {LARGEST_BYTES} bytes, which is too large for a model"
                    )
                progress(done, total)
            stream.flush()
            os.fsync(stream.fileno())
    return total
