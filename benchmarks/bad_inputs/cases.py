"""One bad input: the files that make it, and the command that meets it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Case:
    """A command line, run in a folder of its own after `make` has put the files there.

    `is_accepted`: the command may end well, with one note that says what was left out (a picture of a data set, say).
    """

    name: str
    words: tuple[str, ...]
    make: Callable[[Path], object] = lambda folder: None
    is_accepted: bool = False


def writing(files: Mapping[str, str | bytes]) -> Callable[[Path], None]:
    """Writes these files."""

    def make(folder: Path) -> None:
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode() if isinstance(data, str) else data)

    return make


def not_files(name: str) -> Iterator[tuple[str, Callable[[Path], object]]]:
    """What can stand in a file's place, under this name."""
    yield "nothing", lambda folder: None
    yield "a folder", lambda folder: (folder / name).mkdir(parents=True)
    yield "a pipe", lambda folder: os.mkfifo(_ready(folder / name))
    yield "a device", lambda folder: _ready(folder / name).symlink_to("/dev/zero")
    yield "a link to itself", lambda folder: _ready(folder / name).symlink_to(name.rpartition("/")[2])
    yield "a link to nothing", lambda folder: _ready(folder / name).symlink_to("gone")
    yield "a socket", lambda folder: _listen(_ready(folder / name))
    yield "an empty file", lambda folder: _ready(folder / name).write_bytes(b"")
    yield "noise", lambda folder: _ready(folder / name).write_bytes(bytes(range(256)) * 40)
    yield "a huge sparse file", lambda folder: _sparse(_ready(folder / name))


def _ready(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.unlink()
    return path


def _listen(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # a socket's whole path is at most 107 bytes
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)
