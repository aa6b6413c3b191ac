"""Scratch folders: those of living processes stay, those of dead ones go."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trex.foundation.owned_folder import DOOMED, LOCK, UNLOCKED_S, make_owned, sweep

REPOSITORY = Path(__file__).resolve().parents[2]
OWNER = """
import sys
from pathlib import Path
from trex.foundation.owned_folder import make_owned
folder = make_owned("scratch-", Path(sys.argv[1]))
(folder.path / "content").write_text("kept")
print(folder.path, flush=True)
sys.stdin.read()
"""


def owner(parent: Path) -> tuple[subprocess.Popen[str], Path]:
    """A living process and the folder that it owns."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(parent)],
        cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@pytest.mark.process
def test_the_folder_of_a_living_process_stays_and_goes_once_it_is_killed(tmp_path: Path) -> None:
    process, folder = owner(tmp_path)
    try:
        os.utime(folder, (0, 0))  # however old it looks
        assert sweep("scratch-", tmp_path) == []
        assert (folder / "content").read_text() == "kept"
    finally:
        end(process)
    assert sweep("scratch-", tmp_path) == [folder]
    assert list(tmp_path.iterdir()) == []


def test_one_s_own_folder_stays_until_it_is_removed(tmp_path: Path) -> None:
    folder = make_owned("scratch-", tmp_path)
    assert sweep("scratch-", tmp_path) == [] and folder.path.is_dir()
    folder.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_a_child_that_has_the_lock_owns_the_folder_after_its_parent_is_gone(tmp_path: Path) -> None:
    folder = make_owned("scratch-", tmp_path)
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=(folder.lock_fd,),
    )  # fmt: skip
    os.close(folder.lock_fd)  # as the kernel does when the parent is killed
    assert sweep("scratch-", tmp_path) == []
    end(child)
    assert sweep("scratch-", tmp_path) == [folder.path]


def test_a_folder_that_was_made_this_moment_and_is_not_locked_yet_stays(tmp_path: Path) -> None:
    young, old = tmp_path / "scratch-young", tmp_path / "scratch-old"
    young.mkdir()
    old.mkdir()
    before = young.stat().st_mtime - 2 * UNLOCKED_S
    os.utime(old, (before, before))
    assert sweep("scratch-", tmp_path) == [old]
    assert young.is_dir()


def test_a_sweep_that_was_killed_half_way_is_finished_by_the_next(tmp_path: Path) -> None:
    half = tmp_path / f"scratch-x{DOOMED}"
    (half / "deep").mkdir(parents=True)
    (half / "deep" / "file").write_text("")
    assert sweep("scratch-", tmp_path) == [half]
    assert list(tmp_path.iterdir()) == []


def test_links_files_and_other_names_are_left_alone(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / LOCK).write_text("")
    (tmp_path / "scratch-link").symlink_to(elsewhere)
    (tmp_path / "scratch-file").write_text("")
    before = sorted(tmp_path.rglob("*"))
    assert sweep("scratch-", tmp_path) == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_place_where_nothing_can_be_made_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        make_owned("scratch-", tmp_path / "none")
