"""Turns errors into messages and exit codes: 2 for the user's input, 1 for internal errors."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from trex.clevr_models.chat.cost import METER
from trex.commands.shell.streams import drop_result, flush_result, hold_streams, is_unwritable, unwritten
from trex.foundation.errors import (
    OURS,
    STOPPED,
    USER,
    InputError,
    ModelError,
    RunError,
    TrexError,
)
from trex.foundation.files import is_text, shown
from trex.foundation.home import prepare_packages
from trex.foundation.words import escaped

LONGEST = 2000  # characters of an error


class Guarded(TyperGroup):
    """Commands whose errors end in one clear line on standard error, even if standard streams are closed."""

    def main(self, args: Sequence[str] | None = None, *remaining: Any, **options: Any) -> object:
        """Runs a command and maps errors to exit codes."""
        hold_streams()
        prepare_packages()
        _refuse_undecodable(sys.argv[1:] if args is None else args)
        METER.take()  # what this process asked before the command is not the command's
        try:
            return super().main(args, *remaining, **options)
        finally:
            _tell_cost()
            error = flush_result()
            if error is not None:
                sys.stderr.write(f"error: {unwritten(error)}\n")
                sys.exit(OURS)

    def make_context(self, *args: Any, **options: Any) -> Any:
        """Parse the arguments, which imports much."""
        try:
            return super().make_context(*args, **options)
        except KeyboardInterrupt:
            sys.stderr.write("stopped\n")
            raise typer.Exit(STOPPED) from None
        except OSError as error:
            raise _exit_after(error) from error
        except SystemExit as error:  # also the way in which a completion script ends
            if isinstance(error.__context__, BrokenPipeError):
                raise _exit_of(error) from error
            raise

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Run the command."""
        try:
            return super().invoke(ctx)
        except TrexError as error:
            sys.stderr.write(f"error: {one_line(str(error))}\n")
            raise typer.Exit(exit_code(error)) from error
        except KeyboardInterrupt:
            sys.stderr.write("stopped\n")
            raise typer.Exit(STOPPED) from None
        except OSError as error:
            raise _exit_after(error) from error
        except SystemExit as error:  # typer ends a command by an exception of its own
            raise _exit_of(error) from error
        except MemoryError as error:
            sys.stderr.write("error: out of memory; use smaller numbers, e.g. fewer pictures at a time\n")
            raise typer.Exit(OURS) from error


def _exit_after(error: OSError) -> typer.Exit:
    """How a command ends after an error of the operating system, which is told."""
    if is_unwritable(error):
        drop_result()
    sys.stderr.write(f"error: {unwritten(error) if is_unwritable(error) else foreign(error)}\n")
    return typer.Exit(USER if error.filename else OURS)


def _exit_of(error: SystemExit) -> typer.Exit:
    """How a command ends that rich has ended, as the reader of a pipe has exited, or other code; told, too."""
    if isinstance(error.__context__, BrokenPipeError):
        return _exit_after(error.__context__)
    sys.stderr.write(f"error: {one_line(ended(error))}\n")
    return typer.Exit(USER)


def _refuse_undecodable(words: Sequence[str]) -> None:
    """Exit with an error if an argument cannot be written to any file or page, such as a name of bytes in Latin-1."""
    for word in words:
        if not is_text(word):
            sys.stderr.write(
                f"error: {one_line(f'argument {word!r} is not UTF-8 text; rename the file, or type it anew')}\n"
            )
            sys.exit(USER)


def _tell_cost() -> None:
    """What chat servers were asked, if any: also when a command fails or is stopped, for it is paid for then, too."""
    text = METER.take().said
    if text:
        sys.stderr.write(f"{text}\n")


def one_line(text: str) -> str:
    """The text on one printable line, shortened in the middle if it is very long."""
    line = escaped(" ".join(text.splitlines()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST // 2]} ... {line[-LONGEST // 4 :]}"


def foreign(error: OSError) -> str:
    """The message of an operating system error that no other code handles."""
    reason = error.strerror or str(error)
    return f"{shown(Path(error.filename))}: {reason}; give another path" if error.filename else reason


def ended(error: SystemExit) -> str:
    """What ended a command in place of trex: code of a model, a world or an extension that calls `sys.exit`."""
    frames = traceback.extract_tb(error.__traceback__)
    where = (
        f"{frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name}" if frames else "unknown code"
    )
    return (
        f"the command was ended by sys.exit({error.code!r}) in {where}, which is not part of it; let that code raise "
        "an error, or return"
    )


def exit_code(error: TrexError) -> int:
    """2 for errors that the user can fix (input, model, run folder, disk), 1 for internal ones (a render)."""
    return USER if isinstance(error, InputError | ModelError | RunError) else OURS
