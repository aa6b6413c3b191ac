"""The code blocks of the documents, and how to run those of a page from top to bottom.

A block whose first line is a comment with a file's name is that file. Python blocks share one session, command
blocks one folder. `<!-- not run: REASON -->` before a block leaves it out, `<!-- before: COMMAND -->` gives a page
what it presumes. A `text` block after a block, or what follows a line with `$ `, is its output; `...` there stands
for anything. Lines that install a package do nothing: the tests have all of them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.documents.measure import text_of
from tests.serving.documents import ROOT

PAGES = [
    path.relative_to(ROOT).as_posix() for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
]
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```[ ]*$", re.M | re.S)
NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\s*$", re.S)
BEFORE = re.compile(r"<!-- before: (.+?) -->")
INSTALLS = re.compile(r"^pip install .*$", re.M)
CHANGES_MACHINE = re.compile(r"\bapt-get |\bdocker |\buv |-m pip install|\bgit clone ")  # must say `not run`
FILE = re.compile(r"# ([\w./-]+\.(?:py|toml|sh|yml|yaml|obj))\b")
SHELL = ("bash", "sh", "console")
PROGRAM = re.compile(
    r"^(?:\$ |(?:[A-Z_]+=\S+ )*(?:trex|make|pip|python3?[.\d]*|docker|uv|uvx|export|source) )", re.M
)
SERVER = """
import contextlib, io, json, linecache, sys, traceback
for number, line in enumerate(sys.stdin):
    code, said, failed = json.loads(line), io.StringIO(), ""
    name = f"<block {number}>"
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    try:
        with contextlib.redirect_stdout(said):
            exec(compile(code, name, "exec"), globals())
    except BaseException:
        failed = traceback.format_exc()
    print(json.dumps([said.getvalue(), failed]), file=sys.__stdout__, flush=True)
"""


@dataclass(frozen=True)
class Block:
    """One block of a page; `output` is what the page shows of it, None if it shows nothing."""

    page: str
    line: int
    language: str
    body: str
    reason: str = ""  # why it is not run
    output: str | None = None

    @property
    def file(self) -> str:
        """The name of the file that it is; "" if it is none."""
        found = FILE.match(self.body)
        return found[1] if found else ""

    @property
    def is_shell(self) -> bool:
        """Whether it holds commands."""
        return not self.file and (
            self.language in SHELL or (self.language == "" and PROGRAM.search(self.body) is not None)
        )

    @property
    def changes_machine(self) -> bool:
        """Whether it would install something or fetch a repository."""
        return self.is_shell and CHANGES_MACHINE.search(self.body) is not None

    @property
    def is_code(self) -> bool:
        """Whether it is to be run or to be written to a file."""
        return bool(self.file) or self.is_shell or self.language == "python"

    def __str__(self) -> str:
        """The page and the line."""
        return f"{self.page}:{self.line}"


def blocks(page: str, text: str | None = None) -> list[Block]:
    """The code blocks of a page; a `text` block right after one is its output."""
    text = text_of(ROOT / page) if text is None else text
    found: list[Block] = []
    end = 0
    for fence in FENCE.finditer(text):
        between = text[end : fence.start()]
        body = re.sub(rf"^{fence[1]}", "", fence[3], flags=re.M)
        if fence[2] == "text" and found and found[-1].is_code and not between.strip():
            found[-1] = replace(found[-1], output=body)
        else:
            reason = NOT_RUN.search(between)
            line = text.count("\n", 0, fence.start()) + 1
            found.append(Block(page, line, fence[2], body, reason[1] if reason else ""))
        end = fence.end()
    return found


def steps(block: Block) -> Iterator[tuple[str, str | None]]:
    """The commands of a shell block, each with the output that is shown."""
    if not re.search(r"^\$ ", block.body, re.M):
        yield block.body, block.output
        return
    for part in re.split(r"^\$ ", block.body, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown if shown.strip() else None


def agrees(shown: str, said: str) -> bool:
    """Whether the output is the one shown, but for spaces at line ends; `...` stands for anything."""
    pattern = ".*".join(re.escape(part) for part in re.split(r"\.\.\.", _tidy(shown)))
    return re.fullmatch(pattern, _tidy(said), re.S) is not None


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


class PageRun:
    """A folder in which the blocks of a page run; problems are collected, so one run shows all of them."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self.ran = 0
        programs = folder.parent / f"{folder.name}-bin"
        for place in (folder, programs):
            place.mkdir(parents=True)
        shutil.copytree(ROOT / "queries", folder / "queries")
        for name, words in (("trex", "-m trex"), ("python", ""), ("pytest", "-m pytest")):
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            (programs / name).chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT}:{folder}",
            "XDG_CACHE_HOME": str(cache),
            "XDG_STATE_HOME": str(folder.parent / f"{folder.name}-state"),
            "COLUMNS": "120",
        }
        self.session = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            cwd=folder, env=self.environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def close(self) -> None:
        """End the Python session."""
        assert self.session.stdin is not None
        self.session.stdin.close()
        self.session.wait(60)

    def run(self, block: Block) -> None:
        """Write the file, or run the code and compare what it prints with what is shown."""
        self.ran += 1
        if block.changes_machine:
            self.problems.append(f"{block} changes the machine: put <!-- not run: REASON --> before it")
        elif block.file:
            place = self.folder / block.file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(block.body, encoding="utf-8")
        elif block.is_shell:
            for command, shown in steps(block):
                self._judge(block, shown, *self.shell(command))
        else:
            self._judge(block, block.output, *self._python(block.body))

    def shell(self, command: str) -> tuple[str, str]:
        """What the commands print, and what went wrong: "" if nothing did."""
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", INSTALLS.sub("", command)],
            cwd=self.folder, env=self.environment, text=True, capture_output=True, check=False,
        )  # fmt: skip
        return done.stdout, f"exit {done.returncode}: {done.stderr[-2000:]}" if done.returncode else ""

    def _python(self, code: str) -> tuple[str, str]:
        assert self.session.stdin is not None
        assert self.session.stdout is not None
        self.session.stdin.write(json.dumps(code) + "\n")
        self.session.stdin.flush()
        answer = self.session.stdout.readline()
        if not answer:
            return "", f"the session ended with {self.session.wait(60)}"
        said, failed = json.loads(answer)
        return str(said), str(failed)

    def _judge(self, block: Block, shown: str | None, said: str, failed: str) -> None:
        if failed:
            self.problems.append(f"{block}: {block.body.splitlines()[0]}\n{failed}")
        elif shown is not None and not agrees(shown, said):
            self.problems.append(f"{block} shows\n{shown}\nand the output is\n{said}")


def run_page(page: str, folder: Path, cache: Path) -> PageRun:
    """Run a page from top to bottom."""
    running = PageRun(folder, cache)
    try:
        for command in BEFORE.findall(text_of(ROOT / page)):
            _, failed = running.shell(command)
            if failed:
                running.problems.append(f"{page}, before: {command}\n{failed}")
        for block in blocks(page):
            if block.is_code and not block.reason:
                running.run(block)
    finally:
        running.close()
    return running
