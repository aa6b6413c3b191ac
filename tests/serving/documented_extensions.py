"""CONTRIBUTING.md's examples of "Extending it", copied into packages that look installed, or into a checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w/]+\.\w+)\n")


@dataclass(frozen=True)
class Example:
    """One heading: its files by name, its entry points by group, and the text that it changes in files of ours."""

    files: dict[str, str]
    points: dict[str, dict[str, str]]
    changes: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def touched(self) -> set[str]:
        """The files that it adds or changes."""
        return {*self.files, *self.changes}

    def install(self, folder: Path, name: str = "example") -> None:
        """The files below a folder of the path, with the metadata that an installer would write; no pip.

        Without an entry point, they are in a checkout there instead.
        """
        if not self.points:
            self._check_out(folder)
            return
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

    def _check_out(self, folder: Path) -> None:
        """The product with the example in it: copies of the folders that it touches, links to all others."""
        (folder / "trex").mkdir()
        for entry in (ROOT / "trex").iterdir():
            place, real = folder / "trex" / entry.name, entry.resolve()
            if any((ROOT / name).is_relative_to(real) for name in self.touched):
                shutil.copytree(real, place)
            else:
                place.symlink_to(real)
        for name, text in self.files.items():
            (folder / "trex" / name.removeprefix("trex/")).write_text(text)
        for name, (old, new) in self.changes.items():
            path = folder / "trex" / name.removeprefix("trex/")
            text = path.read_text()
            assert text.count(old) == 1, f"{name} has no such lines: {old}"
            path.write_text(text.replace(old, new))


def examples() -> dict[str, Example]:
    """Every heading of the section, in the order of the document."""
    document = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = document.split("\n## Extending it\n")[1].split("\n## ")[0]
    parts = section.split("\n### ")[1:]
    return {part.partition("\n")[0]: _example(part) for part in parts}


def _example(part: str) -> Example:
    files, points, changes = {}, {}, {}
    for language, text in BLOCK.findall(part):
        named = FILE.match(text)
        if language == "diff":
            _, to, *lines = text.splitlines(keepends=True)
            sides = ("".join(line[1:] for line in lines if line[0] in side) for side in (" -", " +"))
            changes[to.removeprefix("+++ ").strip()] = tuple(sides)
        elif named:
            files[named[1]] = text
        else:
            points |= tomllib.loads(text)["project"]["entry-points"]
    return Example(files, points, changes)


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
