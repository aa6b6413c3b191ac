"""`python -m reproduce` called in this process."""

from __future__ import annotations

from typer.testing import Result

from reproduce.__main__ import app
from tests.running.command_line import called


def reproduce(*words: object) -> Result:
    """The command with these words: its exit code, its output and its errors."""
    return called(app, "python -m reproduce", *words)


def reproduced(*words: object) -> Result:
    """The command, which has to do well."""
    result = reproduce(*words)
    assert result.exit_code == 0, result.output
    return result
