"""Robust standard streams: closed ones are replaced, and a broken standard error ends no search.

If descriptor 2 is closed, the next file opened becomes descriptor 2, and a library's messages to standard error
would be written into it. Closed descriptors are therefore filled before any file is opened.
"""

from __future__ import annotations

import errno
import io
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

from trex.foundation.words import escaped_lines

NAMES = ("stdin", "stdout", "stderr")


class Lasting(io.TextIOWrapper):
    """A text stream that discards what it cannot write."""

    def write(self, text: str, /) -> int:
        """Write the text; return its length, even if it was discarded."""
        try:
            return super().write(text)
        except (OSError, ValueError):
            self._lead_nowhere()
            return len(text)

    def flush(self) -> None:
        """Flush what can be written."""
        try:
            super().flush()
        except (OSError, ValueError):
            self._lead_nowhere()

    def _lead_nowhere(self) -> None:
        with suppress(OSError, ValueError):
            to_nowhere(self.fileno())


class Reported(io.TextIOWrapper):
    """A text stream that remembers why it could not be written."""

    failure: OSError | None = None

    def write(self, text: str, /) -> int:
        """Write the text; return its length."""
        try:
            return super().write(text)
        except OSError as error:
            self.failure = error
            raise

    def flush(self) -> None:
        """Write what is buffered."""
        try:
            super().flush()
        except OSError as error:
            self.failure = error
            raise


class Printable(logging.Formatter):
    """A message with what a terminal would carry out as escapes."""

    def format(self, record: logging.LogRecord) -> str:
        """The message as text for a terminal."""
        return escaped_lines(super().format(record))


def hold_streams() -> None:
    """Open a sink for each closed standard stream, and make standard error one that never ends a command.

    Standard output becomes one that remembers its failure.
    """
    if logging.lastResort is not None:  # it prints the warnings that no handler takes
        logging.lastResort.setFormatter(Printable())
    for number, name in enumerate(NAMES):
        if not _is_open(number):
            to_nowhere(number)
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="replace", closefd=False))  # noqa: SIM115
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        out = sys.stdout
        settings = (out.encoding, out.errors, None, out.line_buffering, out.write_through)
        sys.stdout = Reported(out.buffer, *settings)
    if sys.stderr is sys.__stderr__ and isinstance(sys.stderr, io.TextIOWrapper):
        old = sys.stderr
        sys.stderr = Lasting(
            old.buffer, encoding=old.encoding, errors="backslashreplace", line_buffering=True
        )


@contextmanager
def others_apart(is_apart: bool) -> Iterator[None]:
    """If `is_apart`, send what is printed inside to standard error: by a model, a library or a child process."""
    if not is_apart:
        yield
        return
    with redirect_stdout(sys.stderr), _descriptor_apart():
        yield


@contextmanager
def _descriptor_apart() -> Iterator[None]:
    """Make descriptor 1 another name of standard error, if both are open."""
    if not (_is_open(1) and _is_open(2)):
        yield
        return
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(own, 1)
        os.close(own)


def is_unwritable(error: OSError) -> bool:
    """Whether the error comes from writing to standard output, not to a file."""
    return error is getattr(sys.stdout, "failure", None)


def unwritten(error: OSError) -> str:
    """Why the result could not be written."""
    reason = "its reader has exited" if error.errno == errno.EPIPE else error.strerror
    return f"cannot write the result to standard output: {reason}; all files are complete"


def flush_result() -> OSError | None:
    """Flush standard output; return the error if that fails, and do not try again."""
    try:
        sys.stdout.flush()
    except OSError as error:
        drop_result()
        return error
    return None


def drop_result() -> None:
    """Redirect standard output to nowhere, so that the end of the program does not fail on it again."""
    with suppress(OSError, ValueError, AttributeError):
        to_nowhere(sys.stdout.fileno())
        sys.stdout.flush()


def to_nowhere(descriptor: int) -> None:
    """Redirect the descriptor to /dev/null; children inherit that."""
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
