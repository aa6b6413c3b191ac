"""Standard streams that hold: closed ones lead nowhere, and a reader of messages that leaves ends no search.

A file that is opened while descriptor 2 is closed becomes descriptor 2, and what a library writes to standard error
goes into it. So the descriptors are filled before anything is opened.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress

NAMES = ("stdin", "stdout", "stderr")
UNWRITABLE = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF)


class Lasting(io.TextIOWrapper):
    """A text stream that drops what it cannot write."""

    def write(self, text: str, /) -> int:
        """The letters taken, whether or not anybody reads them."""
        try:
            return super().write(text)
        except (OSError, ValueError):
            self._lead_nowhere()
            return len(text)

    def flush(self) -> None:
        """Hand on what can be handed on."""
        try:
            super().flush()
        except (OSError, ValueError):
            self._lead_nowhere()

    def _lead_nowhere(self) -> None:
        with suppress(OSError, ValueError):
            to_nowhere(self.fileno())


def hold_streams() -> None:
    """Give each closed standard stream a place to go, and make standard error one that never ends a command."""
    for number, name in enumerate(NAMES):
        if not _is_open(number):
            to_nowhere(number)
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="replace", closefd=False))  # noqa: SIM115
    if sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
        old = sys.stderr
        sys.stderr = Lasting(
            old.buffer, encoding=old.encoding, errors="backslashreplace", line_buffering=True
        )


def is_unwritable(error: OSError) -> bool:
    """Whether this is what a write to a full or left stream raises, not a file that was named."""
    return error.filename is None and error.errno in UNWRITABLE


def unwritten(error: OSError) -> str:
    """Why the result could not be told."""
    reason = "its reader has ended" if error.errno == errno.EPIPE else error.strerror
    return f"the result could not be written to standard output: {reason}; what went into files is kept"


def flush_result() -> OSError | None:
    """Write out what standard output still holds; the error if that fails, and nothing is tried a second time."""
    try:
        sys.stdout.flush()
    except OSError as error:
        drop_result()
        return error
    return None


def drop_result() -> None:
    """Let standard output lead nowhere, so that the end of the program does not fail on it again."""
    with suppress(OSError, ValueError, AttributeError):
        to_nowhere(sys.stdout.fileno())
        sys.stdout.flush()


def to_nowhere(descriptor: int) -> None:
    """The descriptor reads and writes nothing from now on; children inherit that."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    if nowhere != descriptor:
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
    os.set_inheritable(descriptor, True)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
