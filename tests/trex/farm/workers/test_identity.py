"""Two machines with one version number and different code of trex do not work on one search."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trex.farm.workers.identity import PACKAGE, differences, identity, sources_hash


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package as a wheel has it: without links, at another place."""
    return shutil.copytree(
        PACKAGE, tmp_path / "site-packages" / "trex", ignore=shutil.ignore_patterns("*.pyc")
    )


def test_an_installed_copy_of_the_same_code_is_the_same(copy: Path) -> None:
    assert sources_hash(copy) == sources_hash()
    (copy / "runs" / "__pycache__").mkdir(exist_ok=True)
    (copy / "runs" / "__pycache__" / "left.py").write_text("behind")
    (copy / "queries" / "mine.py").write_text("of no matter")
    for path in copy.rglob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    sources_hash.cache_clear()
    assert sources_hash(copy) == sources_hash()


@pytest.mark.parametrize(
    "text",
    ["inference/metropolis.py", "scenes/prior.py", "render/blender_child/stage.py", "farm/workers/tasks.py"],
)
def test_any_changed_line_is_another_code(text: str, copy: Path) -> None:
    path = copy / text
    path.write_text(path.read_text().replace("return ", "return  ", 1))
    assert sources_hash(copy) != sources_hash()


def test_a_file_that_is_missing_added_or_renamed_is_another_code(copy: Path) -> None:
    seen = {sources_hash(copy)}
    (copy / "scenes" / "prior.py").rename(copy / "scenes" / "prior_2.py")
    for change in (
        lambda: None,
        lambda: (copy / "scenes" / "prior_2.py").unlink(),
        lambda: (copy / "new.py").touch(),
    ):
        change()
        sources_hash.cache_clear()
        seen.add(sources_hash(copy))
    assert len(seen) == 4


def test_a_worker_with_other_code_is_told_apart(copy: Path) -> None:
    here = identity()
    code = "from trex.farm.workers.identity import identity; print(identity())"
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=copy.parent
    )
    assert ast.literal_eval(other.stdout) == here
    with (copy / "inference" / "metropolis.py").open("a") as file:
        file.write("\n# patched here alone\n")
    assert "code of trex is" in differences(here, {**here, "code of trex": sources_hash(copy)})
