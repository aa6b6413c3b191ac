"""The examples of CONTRIBUTING.md's "Extending it", copied out of it into packages that look installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w/]+\.\w+)\n")


@dataclass(frozen=True)
class Example:
    """One heading: its files by name, and its entry points by group."""

    files: dict[str, str]
    points: dict[str, dict[str, str]]

    def install(self, folder: Path, name: str = "example") -> None:
        """The files below a folder of the path, with the metadata that an installer would write; no pip."""
        metadata = folder / f"{name}-0.1.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
        lines = [
            f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in points.items())
            for group, points in self.points.items()
        ]
        (metadata / "entry_points.txt").write_text("\n".join(lines))
        for place, text in self.files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text(text)


def examples() -> dict[str, Example]:
    """Every heading of the section, in the order of the document."""
    document = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = document.split("\n## Extending it\n")[1].split("\n## ")[0]
    parts = section.split("\n### ")[1:]
    return {part.partition("\n")[0]: _example(part) for part in parts}


def _example(part: str) -> Example:
    files, points = {}, {}
    for _, text in BLOCK.findall(part):
        named = FILE.match(text)
        if named:
            files[named[1]] = text
        else:
            points |= tomllib.loads(text)["project"]["entry-points"]
    return Example(files, points)


def trex(
    installed: Path, *words: object, code: str = "from trex.commands.shell.app import app; app()"
) -> Sequence[str]:
    """A command in a process of its own that sees what is installed there: (exit code, output, errors)."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        cwd=installed,
        env={**os.environ, "PYTHONPATH": f"{installed}{os.pathsep}{ROOT}", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return str(done.returncode), done.stdout, done.stderr
