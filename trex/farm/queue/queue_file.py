"""`queue.sqlite` in the runs folder: the entries and their states. It can always be rebuilt from the run folders."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from trex.farm.queue.entry import STATES
from trex.foundation.errors import RunError
from trex.foundation.files import DiskFullError, is_disk_full
from trex.foundation.locked_folder import hold, no_locks
from trex.foundation.words import quoted

FILE = "queue.sqlite"
SIDE_FILES = ("-wal", "-shm")  # that SQLite keeps next to it while it is open
FORMAT = 1
BUSY_S = 30.0
MIN_FREE_BYTES = 1 << 20  # with less free space, a failed write means a full disk
# https://sqlite.org/rescode.html: of a file system without locks, or without memory that processes share
NO_LOCKS = (
    sqlite3.SQLITE_IOERR_LOCK,
    sqlite3.SQLITE_IOERR_RDLOCK,
    sqlite3.SQLITE_IOERR_UNLOCK,
    sqlite3.SQLITE_IOERR_CHECKRESERVEDLOCK,
    sqlite3.SQLITE_IOERR_SHMLOCK,
    sqlite3.SQLITE_IOERR_SHMMAP,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_PROTOCOL,
)
READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)

SCHEMA = f"""
CREATE TABLE IF NOT EXISTS entries (
    id TEXT PRIMARY KEY NOT NULL,
    folder TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    question TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ({", ".join(f"'{state}'" for state in STATES)})),
    priority INTEGER NOT NULL,
    attempts INTEGER NOT NULL CHECK (attempts >= 0),
    added REAL NOT NULL,
    place INTEGER NOT NULL,
    began REAL,
    ended REAL,
    owner TEXT CHECK ((owner IS NOT NULL) = (state = 'running')),
    expires REAL CHECK ((expires IS NOT NULL) = (state = 'running')),
    why TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS by_turn ON entries (priority DESC, added, place, id);
CREATE INDEX IF NOT EXISTS by_state ON entries (state, priority DESC, added, place, id);
PRAGMA user_version = {FORMAT};
"""


class QueueDamaged(RunError):
    """The file is not a queue, or is damaged; the run folders are untouched."""


class QueueMissing(RunError):
    """The queue file is missing; the run folders are untouched."""


def queue_file(runs: Path) -> Path:
    """The path of a runs folder's queue file."""
    return runs / FILE


def has_queue(runs: Path) -> bool:
    """Whether this runs folder has ever had a queue."""
    return os.path.lexists(queue_file(runs))


def check_queue(runs: Path) -> None:
    """Raise QueueMissing or QueueDamaged unless there is a regular, non-empty queue file."""
    path = queue_file(runs)
    with _translated(path):
        _check_file(path)


@contextmanager
def transaction(runs: Path) -> Iterator[sqlite3.Connection]:
    """Like `change`, but creates the file if it is missing."""
    path = queue_file(runs)
    with _translated(path):
        runs.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(path):
            _make(path)
    with change(runs) as db:
        yield db


@contextmanager
def change(runs: Path) -> Iterator[sqlite3.Connection]:
    """A transaction: all changes inside, or none; other processes wait. Raises QueueMissing if there is no file."""
    path = queue_file(runs)
    with _translated(path), closing(_open(path)) as db:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


@contextmanager
def reading(runs: Path) -> Iterator[sqlite3.Connection]:
    """A read-only snapshot of the queue; QueueMissing if there is no file."""
    path = queue_file(runs)
    with _translated(path), closing(_open(path, _reader(path))) as db:
        db.execute("PRAGMA query_only = ON")
        yield db


def _reader(path: Path) -> str:
    """How SQLite opens the file for reading, which needs files next to it if it is writable, or was just written."""
    if os.access(path.parent, os.W_OK):
        return "mode=rw"
    return "mode=ro" if path.with_name(f"{FILE}-wal").exists() else "mode=ro&immutable=1"


def _open(path: Path, mode: str = "mode=rw") -> sqlite3.Connection:
    _check_file(path)
    db = _connect(path, mode)
    try:
        _check_format(db, path)
    except BaseException:
        db.close()
        raise
    return db


def _check_file(path: Path) -> None:
    """Reject a file that cannot be a queue. An empty one is a lost queue, not a new one."""
    try:
        found = path.stat()
    except FileNotFoundError:
        raise _missing(path) from None
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise _damaged(path, "a link that leads to itself") from error
    if not stat.S_ISREG(found.st_mode):
        raise _damaged(path, "not a regular file")
    if not found.st_size:
        with _lock(path.parent):  # waits until a process that creates the file is done
            if path.exists() and not path.stat().st_size:
                raise _damaged(path, "empty file")


def _make(path: Path) -> None:
    with _lock(path.parent):
        if not os.path.lexists(path):
            path.touch()
            with closing(_connect(path)) as db:
                db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock the folder while the file is created, so that no process takes it for an empty one."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    busy = RunError(f"another process has locked {folder} for {BUSY_S:g} s; wait for it or stop it")
    try:
        hold(handle, folder, busy, wait_s=BUSY_S)
        yield
    finally:
        os.close(handle)


def _connect(path: Path, mode: str = "mode=rw") -> sqlite3.Connection:
    """Open by default with `mode=rw`, so that SQLite does not replace a deleted file by an empty one."""
    address = f"file:{quote(str(path.absolute()))}?{mode}"
    db = sqlite3.connect(address, timeout=BUSY_S, isolation_level=None, uri=True)
    try:
        db.row_factory = sqlite3.Row
        if mode == "mode=rw":
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")  # the run folders survive a power cut
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        db.close()
        raise
    return db


def _check_format(db: sqlite3.Connection, path: Path) -> None:
    """Raise RunError unless the tables have this version's format."""
    found, tables = db.execute(
        "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
    ).fetchone()
    if found == FORMAT:
        return
    if not found and not tables:
        raise _damaged(path, "no tables")
    raise RunError(
        f"{path} has queue format {found}, but this version reads format {FORMAT}; use the version that wrote it, "
        f"or move the file away and run: trex queue rebuild --runs {quoted(path.parent)}"
    )


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Translate SQLite's errors into this program's."""
    try:
        yield
    except sqlite3.Error as error:
        raise _from_sqlite(error, path) from error
    except OSError as error:
        raise run_error(error, path.parent) from error


def run_error(error: OSError, place: Path) -> RunError:
    """The RunError for an operating system error; a DiskFullError if the disk is full."""
    if is_disk_full(error):
        return _disk_full(place)
    return RunError(f"cannot use {place}: {error.strerror}; make it writable or give another --runs folder")


def _disk_full(place: Path) -> DiskFullError:
    return DiskFullError(f"no space left on the disk of {place}; free some space, then repeat the command")


def _from_sqlite(error: sqlite3.Error, path: Path) -> RunError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    is_full = code == sqlite3.SQLITE_IOERR and shutil.disk_usage(path.parent).free < MIN_FREE_BYTES
    if code == sqlite3.SQLITE_FULL or is_full:  # a full disk can appear as an I/O error
        return _disk_full(path.parent)
    if getattr(error, "sqlite_errorcode", 0) in NO_LOCKS:
        return no_locks(error, path)
    if code == sqlite3.SQLITE_BUSY:
        return RunError(f"another process has locked {path} for {BUSY_S:g} s; wait for it or stop it")
    if code == sqlite3.SQLITE_CANTOPEN and not path.exists():
        return _missing(path)
    if code in READ_ONLY:
        return RunError(
            f"cannot write to {path} ({error}); make {path.parent} writable or give another --runs"
        )
    return _damaged(path, str(error))


def _damaged(path: Path, why: str) -> QueueDamaged:
    return QueueDamaged(
        f"{path} is damaged ({why}); rebuild it from the run folders: trex queue rebuild --runs {quoted(path.parent)}"
    )


def _missing(path: Path) -> QueueMissing:
    return QueueMissing(
        f"{path} is missing or was deleted; rebuild it from the run folders: "
        f"trex queue rebuild --runs {quoted(path.parent)}"
    )
