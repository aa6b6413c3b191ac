"""Everything that a command prints passes the one place that escapes what a terminal would carry out."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import trex
from trex.commands.shell.result import note, print_result
from trex.pages.display import Display
from trex.pages.table import table_of
from trex.search.stopping import say

EVIL = "two\x1b]0;pwned\x07\x1b[2J\x9b2J\u202eeert\rall passing"
SAFE = r"two\x1b]0;pwned\x07\x1b[2J\x9b2J\u202eeert\rall passing"
ALLOWED = {
    "commands/shell/result.py",
    "commands/shell/app.py",
    "commands/shell/errors.py",
    "commands/shell/streams.py",
    "search/stopping.py",
    "__main__.py",
}
ALLOWED |= {
    "doctor/preflight.py",
    "pages/display.py",
    "farm/monitor/top.py",
}  # before the installation; rich's own


def test_results_notes_and_progress_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_result({}, f"one\n{EVIL}", as_json=False)
    print_result({"label": EVIL}, "", as_json=True)
    note(EVIL)
    say(EVIL)
    with Display(Console(file=sys.stderr, width=500)) as display:
        display.say(EVIL)
        display.show(EVIL, 1, 2, EVIL)
    printed = capsys.readouterr()
    assert printed.out.startswith(f"one\n{SAFE}\n") and printed.err.count(SAFE) == 5
    assert (printed.out + printed.err).replace("\n", "").isprintable()


def test_a_table_has_a_line_for_each_row_whatever_its_cells_hold() -> None:
    table = table_of("t", ("name", "n"), [(f"{EVIL}\nforged", "1")])
    assert len(table.text()) == 2 and SAFE in table.text()[1]
    assert len(table.markdown().splitlines()) == 3


def test_warnings_that_no_handler_takes_are_escaped() -> None:
    code = "import logging, sys; from trex.commands.shell.streams import hold_streams; hold_streams()"
    words = [
        sys.executable,
        "-c",
        f"{code}; logging.getLogger('trex').warning('skipped %s', sys.argv[1])",
        EVIL,
    ]
    assert SAFE in subprocess.run(words, capture_output=True, text=True, check=True).stderr
    assert logging.lastResort is not None


def test_nothing_prints_beside_it() -> None:
    root = Path(trex.__file__).parent
    direct = re.compile(r"(?<!\w)(typer\.echo|click\.echo|print|sys\.std(out|err)\.write|secho)\(")
    files = {
        str(path.relative_to(root)) for path in root.rglob("*.py") if direct.search(path.read_text("utf-8"))
    }
    assert {name for name in files if not name.startswith(("render/", "queries/"))} <= ALLOWED
