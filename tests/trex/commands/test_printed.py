"""What commands print: escaped in one place, and if standard streams are closed, full or left by their reader."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import trex
from tests.running.runs import draws, run, write_query
from trex.commands.shell.result import note, print_result
from trex.commands.shell.streams import Reported, is_unwritable
from trex.pages.display import Display
from trex.pages.table import table_of
from trex.search.stopping import say

UNREAD = [(">/dev/full", "No space left on device"), ("| exec true", "its reader has exited")]
TREX = "from trex.commands.shell.app import app; app()"


def shell(words: str, redirect: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """`trex WORDS REDIRECT` by a shell; what the streams that are left say."""
    line = f'"{sys.executable}" -c "{TREX}" {words} {redirect}'
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.process
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


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize(("redirect", "why"), UNREAD)
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


@pytest.mark.process
@pytest.mark.parametrize(("redirect", "why"), UNREAD)
@pytest.mark.parametrize("command", ["--help", "find --help", "models", "cache"])
def test_what_nobody_reads_is_an_error_in_one_line(
    tmp_path: Path, command: str, redirect: str, why: str
) -> None:
    """Tables and help are printed by rich, which ends the program by itself. Planted bug: that was laid to a model."""
    ended = shell(command, redirect, tmp_path)
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert line.startswith("error: cannot write the result") and why in line


@pytest.mark.process
def test_an_error_with_standard_error_closed_is_told_by_the_exit_code(tmp_path: Path) -> None:
    assert shell("find nowhere.toml", "2>&-", tmp_path).returncode == 2


LOUD = """
import os
import torch

print("loading weights")


class Own(torch.nn.Module):
    labels = ("0", "1", "2", "3")

    def forward(self, pictures):
        print("asked")
        os.write(1, b"by descriptor\\n")
        os.system("echo by a child")
        return torch.zeros(len(pictures), 4)


def factory(question):
    print("making the model")
    return Own()
"""


@pytest.mark.process
@pytest.mark.parametrize("words", ["check query.toml", "find query.toml --set search.steps=0 --out here"])
def test_what_a_model_prints_goes_to_standard_error_beside_json(tmp_path: Path, words: str) -> None:
    """Planted bug: the document followed what the model had printed, which is no JSON."""
    write_query(tmp_path)
    (tmp_path / "loud.py").write_text(LOUD)
    ended = shell(f"{words} --model loud:factory --json", "", tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert isinstance(json.loads(ended.stdout), dict)
    for part in ("loading weights", "making the model", "asked", "by descriptor", "by a child"):
        assert f"{part}\n" in ended.stderr
    assert (
        "loading weights\n"
        in shell(f"{words.replace('here', 'there')} --model loud:factory", "", tmp_path).stdout
    )


def test_only_standard_output_is_said_to_be_unwritable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Planted bug: a full disk while a file was written was told as one of standard output."""
    with open("/dev/full", "w") as full:
        reported = Reported(full.buffer, "utf-8")
        monkeypatch.setattr(sys, "stdout", reported)
        reported.write("x")
        with pytest.raises(OSError, match="No space left") as of_output:
            reported.flush()
        elsewhere = OSError(errno.ENOSPC, "No space left on device")
        assert is_unwritable(of_output.value) and not is_unwritable(elsewhere)
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())  # so that closing it works


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


@pytest.mark.process
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
