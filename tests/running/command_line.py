"""The command `trex` called in this process, for every test that looks at what it prints or how it ends."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any, Protocol

from typer import Typer
from typer.main import get_command
from typer.testing import CliRunner, Result

from trex.commands.shell.app import app


class Command(Protocol):
    """What the runner needs of a click command."""

    def main(self, args: list[str], prog_name: str) -> object: ...


@cache
def _command(app: Typer) -> Command:
    """The whole command, built once: typer's own runner builds it for every call, in a tenth of a second."""
    return get_command(app)


@cache
def whole() -> Any:
    """The group `trex` with every command loaded, which a call of `trex` is not."""
    group: Any = get_command(app)
    for name in group.list_commands(None):
        group.get_command(None, name)
    return group


def trex(*words: object) -> Result:
    """The command with these words: its exit code, its output and its errors."""
    return called(app, "trex", *words)


def called(app: Typer, name: str, *words: object) -> Result:
    """An app of this name with these words."""
    runner, exit_code, exception = CliRunner(), 0, None
    with runner.isolation() as (stdout, stderr, output):
        try:
            _command(app).main([str(word) for word in words], prog_name=name)
        except SystemExit as error:
            exit_code = int(error.code or 0)
        except Exception as error:
            exit_code, exception = 1, error
        sys.stdout.flush()
        sys.stderr.flush()
        streams = (stdout.getvalue(), stderr.getvalue(), output.getvalue())
    return Result(runner, *streams, None, exit_code, exception)


def trex_done(*words: object) -> Result:
    """The command, which has to do well."""
    result = trex(*words)
    assert result.exit_code == 0, result.output
    return result


def refused(result: Result, *parts: str) -> None:
    """Exit code 2, and every part in the errors."""
    assert result.exit_code == 2, (result.output, result.exception)
    for part in parts:
        assert part in result.stderr, result.stderr
