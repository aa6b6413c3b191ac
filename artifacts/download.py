"""Downloads of published files: resumed after an interruption, bounded, and checked by sha256."""

from __future__ import annotations

import http
import os
import ssl
from pathlib import Path

from trex.artifacts.card import check_sha256, write_whole
from trex.foundation.codec import Codec
from trex.foundation.errors import InputError, ModelError, RunError
from trex.foundation.files import read_text
from trex.foundation.progress import Progress, silent

TIMEOUT_S = 60.0  # without any byte
LARGEST_BYTES = 4 * 2**30
AGAIN = "run the same command again to resume"


def download(url: str, path: Path, by_hand: str, progress: Progress = silent, *, sha256: str = "") -> Path:
    """Download a URL to `path`, whole or not at all; ModelError says how to resume, or `by_hand`, what else to do.

    The bytes so far stay beside it as .part. The download resumes only if the server confirms (by ETag) that its
    file is unchanged. InputError if the file has another sha256 than the published one, if that is given.
    """
    import httpx  # takes 0.1 s, and whoever may download imports this file

    part, mark = path.with_name(f"{path.name}.part"), path.with_name(f"{path.name}.part.etag")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        total = _fetch(url, part, mark, progress)
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        if status == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink(missing_ok=True)  # the next attempt starts again
        raise ModelError(
            f"{url} was refused by the server ({status} {error.response.reason_phrase}); {by_hand}"
        ) from error
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, ValueError, OSError) as error:  # bad proxies, too
        raise ModelError(f"{url} could not be fetched ({error}); {AGAIN}, or {by_hand}") from error
    found = part.stat().st_size
    if total is not None and found != total:
        raise ModelError(f"{url} was cut off after {found} of {total} bytes; {AGAIN}, or {by_hand}")
    if sha256:
        try:
            check_sha256(path, part.read_bytes(), sha256)
        except InputError:
            part.unlink()
            mark.unlink(missing_ok=True)
            raise
    part.replace(path)
    mark.unlink(missing_ok=True)
    return path


def _fetch(url: str, part: Path, mark: Path, progress: Progress) -> int | None:
    """Append to the part, or start again; return the size of the whole file if the server reports it."""
    import httpx

    has_begun = part.is_file() and mark.is_file()
    done, etag = (
        (part.stat().st_size, read_text(mark, limit=1 << 16, error=ModelError)) if has_begun else (0, "")
    )
    headers = {"Accept-Encoding": "identity"}
    headers |= {"Range": f"bytes={done}-", "If-Range": etag} if done and etag else {}
    trusted = ssl.create_default_context()  # the authorities of this system, or of SSL_CERT_FILE
    with (
        httpx.Client(verify=trusted, timeout=TIMEOUT_S, follow_redirects=True) as client,
        client.stream("GET", url, headers=headers) as response,
    ):
        response.raise_for_status()
        is_resumed = response.status_code == http.HTTPStatus.PARTIAL_CONTENT
        done = done if is_resumed else 0
        length = response.headers.get("Content-Length", "")
        total = done + int(length) if length.isdigit() else None
        mark.write_text(response.headers.get("ETag", ""))
        with part.open("ab" if is_resumed else "wb") as stream:
            try:
                for chunk in response.iter_raw():
                    stream.write(chunk)
                    done += len(chunk)
                    if done > LARGEST_BYTES:
                        raise ModelError(
                            f"{url} sends more than {LARGEST_BYTES} bytes, which is too large for a model"
                        )
                    progress("bytes", done, total)
            except httpx.RemoteProtocolError:  # cut off: what came is kept
                if total is None:
                    raise
            stream.flush()
            os.fsync(stream.fileno())
    return total


FILE = "sha256.json"  # the sums of files whose publisher gives none
SUMS = Codec(dict[str, str], InputError)  # by the name of the file


def check_recorded(folder: Path, name: str, sha256: str) -> None:
    """Record the sha256, or check it; InputError if it differs from the recorded one."""
    path = folder / FILE
    known = SUMS.read(path, "correct it, or delete it and the values are recorded again") or {}
    if known.get(name, sha256) != sha256:
        raise InputError(
            f"{name} is not the file that was used first: its sha256 is {sha256}, {path} says {known[name]}; "
            f"find out which is right, and if it is the new one, take {name} out of {path}"
        )
    if name in known:
        return
    try:
        write_whole(path, SUMS.text(dict(sorted({**known, name: sha256}.items()))).encode())
    except RunError as error:
        raise RunError(f"{error}; no sha256 was recorded") from error
