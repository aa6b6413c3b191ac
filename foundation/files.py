"""Bounded reading of foreign files, and atomic writing of our own.

`read_bytes` and `read_text` read every file that may come from elsewhere: it must be a regular file (no FIFO,
device or folder, which could block or never end), no larger than the caller allows, and, in folders whose content
belongs together, neither a symbolic link nor below one (`inside`).
"""

from __future__ import annotations

import codecs
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader
from os import PathLike, fspath
from pathlib import Path
from typing import BinaryIO, Self

from trex.foundation.errors import InputError, RunError, TrexError
from trex.foundation.json_fields import short

MIB = 1 << 20
TEXT_LIMIT = 16 * MIB  # queries, cards, manifests, plans: files that a person could write
DATA_LIMIT = 4096 * MIB  # weights, data sets, logs of draws
# How our pages and JUnit files begin, in lower case.
HTML = b'<!doctype html>\n<html lang="en">\n<head>\n<meta name="generator" content="bayes-trex">'
XML = b"<?xml version='1.0' encoding='utf-8'?>\n<testsuites>\n  <testsuite name=\"trex "


class DiskFullError(RunError):
    """The disk is full; everything written before is kept."""


class Closing:
    """What is open until `close`; as a context manager it closes itself at the end."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        raise NotImplementedError


@contextmanager
def open_regular(
    path: Path,
    *,
    limit: int = DATA_LIMIT,
    follow_links: bool = True,
    error: type[TrexError] = InputError,
    inside: Path | None = None,
) -> Iterator[BufferedReader]:
    """A regular file of at most `limit` bytes, open for reading; raises `error` for any other."""
    try:
        handle = _open(path, follow_links, error, inside)
    except OSError as problem:
        raise error(f"{shown(path)} cannot be read: {_reason(problem)}") from problem
    try:
        _check(path, os.fstat(handle), limit, error)
    except BaseException:
        os.close(handle)
        raise
    with os.fdopen(handle, "rb") as stream:
        yield stream


def read_bytes(
    path: Path,
    *,
    limit: int = DATA_LIMIT,
    follow_links: bool = True,
    error: type[TrexError] = InputError,
    inside: Path | None = None,
) -> bytes:
    """The bytes of a regular file of at most `limit` bytes; raises `error` for any other.

    With `inside`, no part of the path below that folder may be a symbolic link.
    """
    with open_regular(path, limit=limit, follow_links=follow_links, error=error, inside=inside) as stream:
        try:
            # A read reserves as much memory as it may need, so it is given the file's size.
            size = min(limit, os.fstat(stream.fileno()).st_size)
            data = stream.read(size + 1)
            if len(data) > size:
                data += stream.read(limit + 1 - len(data))
        except OSError as problem:
            raise error(f"{shown(path)} cannot be read: {_reason(problem)}") from problem
    if len(data) > limit:
        raise error(f"{shown(path)} is larger than {_size(limit)}: it grew during the read")
    return data


def read_text(
    path: Path,
    *,
    limit: int = TEXT_LIMIT,
    follow_links: bool = True,
    error: type[TrexError] = InputError,
    inside: Path | None = None,
) -> str:
    """The text of a regular UTF-8 file of at most `limit` bytes; raises `error` for any other.

    A byte-order mark is left out, and one of UTF-16 is heeded. For `inside` see `read_bytes`.
    """
    data = read_bytes(path, limit=limit, follow_links=follow_links, error=error, inside=inside)
    try:
        return data.decode(text_encoding(data))
    except UnicodeDecodeError as problem:
        raise error(
            f"{shown(path)} cannot be read: it is not UTF-8 text ({problem.reason} at byte {problem.start})"
        ) from problem


def text_encoding(head: bytes) -> str:
    """The encoding that a text's first four bytes tell: UTF-8, unless there is a byte-order mark of another.

    PowerShell 5 writes UTF-16 with a mark, many Windows editors UTF-8 with one.
    """
    marks = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32"}  # first: the next is part of one
    marks |= {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
    return next((name for mark, name in marks.items() if head.startswith(mark)), "utf-8-sig")


def write_atomic(path: Path, data: bytes, *, is_precious: bool = True) -> None:
    """Write a file atomically, even if the process is killed; its folder must exist.

    Replaces a link at that path and never follows it. With `is_precious=False` the folder is not synced, so the
    name may not survive a power cut; that suffices for a file that can be made again.
    """
    try:
        with replacing(path, is_precious=is_precious) as file:
            file.write(data)
    except OSError as problem:
        raise disk_error(problem, path) from problem


@contextmanager
def replacing(path: Path, *, is_precious: bool = True) -> Iterator[BinaryIO]:
    """A stream whose bytes replace the file if the block succeeds; otherwise OSError, and no trace of it."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with suppress(FileNotFoundError):
            scratch.unlink()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(scratch, flags, 0o666), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except BaseException:
        with suppress(OSError):
            scratch.unlink(missing_ok=True)
        raise
    if is_precious:
        sync_folder(path.parent)


def behind_links(place: Path) -> Path:
    """Where a link leads, to an empty folder or to nothing yet; any other place itself. A folder replaces no link."""
    return Path(os.path.realpath(place))


def scratch_folder(place: Path) -> Path:
    """A new folder beside a place, to be filled and renamed to it; raises OSError.

    Unlike `mkdtemp`'s, its permissions follow the umask.
    """
    scratch = place.with_name(f".{place.name}-{secrets.token_hex(8)}")
    scratch.mkdir()
    return scratch


def is_missing(error: TrexError) -> bool:
    return isinstance(error.__cause__, FileNotFoundError)


def sync_folder(path: Path) -> None:
    """Make the names in a folder survive a power cut."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def left_behind(folder: Path) -> list[Path]:
    """Temporary files of `write_atomic` whose process was killed; leaves out those of running processes."""
    found = sorted(folder.glob(".*.[0-9]*.tmp"))
    return [path for path in found if not _runs(path.name.split(".")[-2])]


def make_folder(path: Path) -> None:
    """Create a folder with its parents, and delete what killed processes left half-written in it."""
    try:
        behind_links(path).mkdir(parents=True, exist_ok=True)
        delete_left_behind(path)
    except OSError as problem:
        raise disk_error(problem, path) from problem


def holds_only(folder: Path, names: Iterable[str]) -> bool:
    """Whether a folder has no other entries than these, and what killed processes left half-written."""
    return {*folder.iterdir()} <= {*map(folder.joinpath, names), *left_behind(folder)}


def delete_left_behind(folder: Path) -> None:
    """Delete what killed processes left half-written in a folder; raises OSError."""
    for scratch in left_behind(folder):
        scratch.unlink(missing_ok=True)


def _runs(number: str) -> bool:
    """Whether this is the id of another running process."""
    if not number.isdecimal() or int(number) == os.getpid():
        return False
    try:
        os.kill(int(number), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def check_file_out(path: Path, option: str, ours: bytes | Callable[[Path], bool]) -> None:
    """InputError unless this command may write a file here: a new one, or in place of one of `ours`.

    `ours` is how they begin, or what tells whether a file is one. So no slip replaces the draws of a run, or another
    program's page, by a page. Cheap: call it before the work.
    """
    folder = path.absolute().parent
    if not path.name or path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InputError(
            f"{option} {shown(path)} cannot be written; name a file in an existing, writable folder"
        )
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise InputError(f"{option} {shown(path)} is a link or no regular file; name a file")
    if path.exists():
        with path.open("rb") as file:
            head = file.read(128)
        if head and not (head.lstrip().lower().startswith(ours) if isinstance(ours, bytes) else ours(path)):
            raise InputError(f"{option} {shown(path)} holds something else; delete it, or name another file")


def is_disk_full(error: OSError) -> bool:
    """Whether a disk, or the user's share of it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def disk_full(error: BaseException, place: Path) -> DiskFullError | None:
    """What a full disk has caused this error, None if none has; `place` is named where the error names no file."""
    if isinstance(error, DiskFullError):
        return error
    if isinstance(error, OSError) and is_disk_full(error):
        return _no_space(Path(error.filename) if isinstance(error.filename, str) else place)
    return disk_full(error.__cause__, place) if error.__cause__ is not None else None


def disk_error(error: OSError, path: Path) -> RunError:
    if is_disk_full(error):
        return _no_space(path)
    if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
        return RunError(
            f"another program has written {path} meanwhile; repeat the command, or choose another place"
        )
    return RunError(
        f"cannot write {path}: {_reason(error)}; make it writable and repeat the command, or choose another place"
    )


def _no_space(path: Path) -> DiskFullError:
    return DiskFullError(
        f"no space left on the disk of {path}; everything written before is kept; "
        "free some space and repeat the command"
    )


def open_inside(folder: Path, names: Sequence[str], flags: int = os.O_RDONLY) -> int:
    """The descriptor of folder/name/.../name; OSError (ELOOP) if any of these names is a symbolic link."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names[:-1]:
            inner = _open_folder(at, name)
            os.close(at)
            at = inner
        return os.open(names[-1], flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666, dir_fd=at)
    finally:
        os.close(at)


def refuse_links(folder: Path) -> None:
    """RunError names a symbolic link anywhere inside a folder; the folder itself may be reached through one."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as items:
                entries = list(items)
        except OSError:
            continue  # reading it will report why it is unreadable
        for entry in entries:
            if entry.is_symlink():
                raise RunError(
                    f"{shown(Path(entry.path))} is a symbolic link; {shown(folder)} must not contain links, which "
                    "can lead to any file: delete it, or replace it by the file that it points to"
                )
        waiting += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]


def _open(path: Path, follow_links: bool, error: type[TrexError], inside: Path | None) -> int:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow_links else os.O_NOFOLLOW)
    try:
        if inside is not None:
            return open_inside(inside, path.relative_to(inside).parts)
        return os.open(path, flags)
    except ValueError as problem:  # a NUL byte or a lone surrogate in the name
        raise error(f"{shown(path)} cannot be read: not a valid file name ({problem})") from problem


def _open_folder(at: int, name: str) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
    except NotADirectoryError as problem:
        if stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from problem
        raise


def _check(path: Path, found: os.stat_result, limit: int, error: type[TrexError]) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise error(f"{shown(path)} is {_kind(found.st_mode)}, not a file; give a regular file")
    if found.st_size > limit:
        raise error(f"{shown(path)} is {_size(found.st_size)}; the limit is {_size(limit)}")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def _reason(problem: OSError) -> str:
    if problem.errno == errno.ELOOP:
        return "it is a symbolic link, which is not allowed here"
    return problem.strerror or str(problem)


def is_text(name: str) -> bool:
    """Whether a name can be encoded; one of bytes that are not UTF-8 cannot: Python reads them as lone surrogates."""
    return not any("\ud800" <= c <= "\udfff" for c in name)


def path_of(given: object, what: str) -> Path:
    """The absolute path that a caller in Python gives; InputError, with `what` to give instead, if it is none."""
    path = fspath(given) if isinstance(given, PathLike) else given
    if not isinstance(path, str) or not path:
        raise InputError(f"{short(given)} is no path; give {what}")
    return from_home(Path(path)).absolute()


def from_here(path: Path) -> Path:
    """The path as seen from the current folder, if it lies below it."""
    with suppress(ValueError, OSError):
        return path.relative_to(Path.cwd())
    return path


def from_home(path: Path) -> Path:
    """The path with "~" replaced by the user's home; that of an unknown user stays."""
    return Path(os.path.expanduser(path))


def shown(path: Path) -> str:
    """The path in printable form: shortened if it is very long, NUL and control characters escaped."""
    text = str(path)
    text = text if len(text) <= 200 else text[:150] + "…" + text[-40:]
    return text if text.isprintable() else repr(text)


def _size(count: int) -> str:
    return f"{count / MIB:,.1f} MiB" if count >= MIB else f"{count:,} bytes"
