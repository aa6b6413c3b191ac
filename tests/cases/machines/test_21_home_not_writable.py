"""A home that cannot be written, or none at all: the search has its report, and its run is known as made here.

A container with `--user 12345` has HOME=/, which it cannot write, and no entry of that user. /proc/1 stands for such a
home here, as nobody can make a file there, root included.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.running.runs import QUERY
from trex.artifacts.cache import cache_root
from trex.doctor.finding import State
from trex.doctor.machine import machine_findings
from trex.foundation.errors import InputError
from trex.foundation.home import prepare_packages, stand_in
from trex.query.schema import Query
from trex.runs.trust import check_made_here, record_made_here

SMALL = QUERY + "bank = 0\ncontrol = false\n"
TREX = "from trex.commands.shell.app import app; app(prog_name='trex')"
# What the system says of a user whom it does not know.
NAMELESS = """
import pwd
def unknown(uid): raise KeyError(f"getpwuid(): uid not found: {uid}")
pwd.getpwuid = unknown
"""
VARIABLES = (
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_CONFIG_HOME",
    "MPLCONFIGDIR",
    "TREX_CACHE",
    "TREX_BANK",
    "HF_HOME",
    "HF_MODULES_CACHE",
    "TORCH_HOME",
    "LOGNAME",
    "USER",
)


def trex(code: str, folder: Path, *words: str, **variables: str) -> str:
    """What a command prints in this folder, with the home that `variables` name; it has to succeed."""
    bare = {name: value for name, value in os.environ.items() if name not in (*VARIABLES, "HOME")}
    (folder / "temporary").mkdir(exist_ok=True)
    bare |= {"TMPDIR": str(folder / "temporary"), **variables}
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=bare,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.parametrize(
    ("code", "home"), [(TREX, {"HOME": "/proc/1"}), (NAMELESS + TREX, {})], ids=["not writable", "none"]
)
def test_a_search_without_a_home_has_its_report(tmp_path: Path, code: str, home: dict[str, str]) -> None:
    (tmp_path / "q.toml").write_text(SMALL)
    text = trex(code, tmp_path, "find", "q.toml", "--no-large", "--out", "run", **home)
    assert "report: run/report.html" in text and "atplotlib" not in text
    (tmp_path / "run" / "report.html").unlink()
    assert "report: run/report.html" in trex(code, tmp_path, "report", "run", **home)


@pytest.fixture
def no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of temporary files of a process whose home cannot be written."""
    import tempfile

    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/proc/1")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_run_made_without_a_home_is_known_as_made_here(no_home: Path) -> None:
    query = Query.model_validate({"question": "How many cubes are there?", "answer": "1"})
    query = query.model_copy(update={"model": query.model.model_copy(update={"name": "m:plain"})})
    run = no_home / "run"
    with pytest.raises(InputError, match="comes from elsewhere"):
        check_made_here(run, query)
    record_made_here(run, query)
    check_made_here(run, query)


def test_the_doctor_says_it(no_home: Path) -> None:
    (home,) = [finding for finding in machine_findings() if finding.part == "home"]
    assert home.state is State.ABSENT
    assert "not writable" in home.found and str(no_home) in home.found and "XDG_CACHE_HOME" in home.remedy


def test_what_a_read_only_cache_holds_is_still_read(no_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models baked into an image: the home is not this user's, and its cache is full of them."""
    home = no_home / "home"
    for name in ("bayes-trex", "huggingface"):
        (home / ".cache" / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: home not in (path, *path.parents) and access(path, mode)
    )
    assert cache_root() == home / ".cache" / "bayes-trex"
    with monkeypatch.context() as patch:
        patch.setattr(os, "environ", dict(os.environ))
        prepare_packages()
        assert os.environ["HF_HOME"] == str(home / ".cache" / "huggingface")
        assert os.environ["TREX_CACHE"] == str(home / ".cache" / "bayes-trex")
        assert Path(os.environ["XDG_CACHE_HOME"]).parent == Path(os.environ["MPLCONFIGDIR"]).parent.parent


def test_a_home_that_can_be_written_changes_no_variable(
    no_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(no_home))
    monkeypatch.setenv("USER", "somebody")
    before = dict(os.environ)
    prepare_packages()
    assert dict(os.environ) == before


def test_the_cache_is_where_everybody_expects_it(no_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(no_home))
    assert cache_root() == no_home / ".cache" / "bayes-trex"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, as the specification says
    assert cache_root() == no_home / ".cache" / "bayes-trex"
    monkeypatch.setenv("XDG_CACHE_HOME", str(no_home / "mine"))
    assert cache_root() == no_home / "mine" / "bayes-trex"
    monkeypatch.setenv("TREX_CACHE", str(no_home / "ours"))
    assert cache_root() == no_home / "ours"


@pytest.mark.parametrize("planted", ["link", "open to all"])
def test_a_stand_in_that_others_may_have_made_is_refused(no_home: Path, planted: str) -> None:
    place = stand_in()
    place.rmdir()
    if planted == "link":
        (no_home / "theirs").mkdir()
        place.symlink_to(no_home / "theirs")
    else:
        place.mkdir()
        place.chmod(0o777)
    with pytest.raises(InputError, match="not a folder of this user alone; delete it"):
        cache_root()
