"""The command line with standard streams that are closed, full, or left by their reader."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running.runs import draws, run, write_query

pytestmark = pytest.mark.process


TREX = "from trex.commands.shell.app import app; app()"


def shell(words: str, redirect: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """`trex WORDS REDIRECT` by a shell; what the streams that are left say."""
    line = f'"{sys.executable}" -c "{TREX}" {words} {redirect}'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("redirect", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", "2> >(exec 0<&-)"])
def test_a_search_ends_with_the_same_draws_if_standard_error_is_closed_full_or_left(
    tmp_path: Path, redirect: str
) -> None:
    write_query(tmp_path)
    ended = shell("find query.toml --out here", redirect, tmp_path)
    assert ended.returncode == 0
    assert (tmp_path / "here" / "report.html").is_file()
    (tmp_path / "whole").mkdir()
    assert draws(tmp_path / "here") == draws(run(tmp_path / "whole").folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("redirect", "why"), [(">/dev/full", "No space left on device"), ("| exec true", "its reader has exited")]
)
def test_a_result_that_cannot_be_written_to_standard_output_is_an_error_in_one_line(
    tmp_path: Path, redirect: str, why: str
) -> None:
    write_query(tmp_path)
    ended = shell("find query.toml --out here --set search.steps=0", redirect, tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("error: cannot write the result")
    assert why in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
    assert (tmp_path / "here" / "report.html").is_file()


def test_an_error_with_standard_error_closed_is_told_by_the_exit_code(tmp_path: Path) -> None:
    assert shell("find nowhere.toml", "2>&-", tmp_path).returncode == 2
