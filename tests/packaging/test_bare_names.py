"""The bare names of the libraries are banned by lint: a module imported by two names would be loaded twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = sorted(
    path.name for path in (ROOT / "trex").iterdir() if path.is_symlink() and path.name != "queries"
)


def banned(source: str) -> list[str]:
    """The rules that ruff finds broken in a module of this project."""
    command = [sys.executable, "-m", "ruff", "check", "--output-format", "concise", "--no-cache", "--select"]
    done = subprocess.run(
        [*command, "TID251", "--stdin-filename", "trex/search/planted.py", "-"],
        input=source, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if "TID251" in line]


def test_there_are_libraries_to_ban() -> None:
    assert len(LIBRARIES) == 8


@pytest.mark.process
def test_every_bare_name_is_caught_and_the_full_one_is_not() -> None:
    forms = [
        form
        for name in LIBRARIES
        for form in (
            f"import {name}",
            f"import {name}.inner",
            f"from {name} import inner",
            f"from {name}.a import b",
        )
    ]
    assert len(banned("\n".join(forms) + "\n")) == len(forms)
    assert banned("".join(f"import trex.{name}\n" for name in LIBRARIES)) == []


def test_the_links_are_one_package_each() -> None:
    from trex import scenes

    assert scenes.__name__ == "trex.scenes"
    assert not {name.partition(".")[0] for name in sys.modules}.intersection(LIBRARIES)
