"""The command `trex` called in this process, for every test that looks at what it prints or how it ends."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from trex.cli.app import app


def trex(*words: object) -> Result:
    """The command with these words: its exit code, its output and its errors."""
    return CliRunner().invoke(app, [str(word) for word in words])


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
