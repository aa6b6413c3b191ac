"""A module may be given by the path of its file; where that cannot be, what the error says to write works."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.references.user_modules import user_folder
from tests.running.command_line import trex

CODE = """
import numpy as np

def plain(question): return Net()
def ask(pictures, question): return np.full((len(pictures), 28), 1 / 28)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module m in the current folder and in its folder pkg_m."""
    name = user_folder(tmp_path, monkeypatch, CODE)
    (tmp_path / f"pkg_{name}").mkdir()
    shutil.copy(tmp_path / f"{name}.py", tmp_path / f"pkg_{name}")
    return name


FORMS = ("{m}:", "{m}.py:", "./{m}.py:", "./{m}:", "pkg_{m}/{m}.py:", "pkg_{m}/{m}:", "pkg_{m}.{m}:", "pkg_{m}.{m}.py:",
         "{here}/{m}.py:", "{here}/pkg_{m}/{m}.py:", "pkg_{m}/../{m}.py:")  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("prefix", "function"), [("", "plain"), ("ask:", "ask")])
def test_a_path_is_accepted(form: str, prefix: str, function: str, module: str, tmp_path: Path) -> None:
    spec = f"{prefix}{form.format(m=module, here=tmp_path)}{function}"
    done = trex("check", "q.toml", "--model", spec)
    assert done.exit_code == 0, done.stderr
    assert spec in done.stdout


@pytest.mark.parametrize(
    "form", ["pkg_{m}:", "./pkg_{m}:", "pkg_{m}/:", "pkg_{m}/__init__.py:", "sub/pkg_{m}:"]
)
def test_a_package_s_path_is_accepted(form: str, module: str, tmp_path: Path) -> None:
    for folder in (tmp_path / f"pkg_{module}", tmp_path / f"sub/pkg_{module}"):
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / f"{module}.py", folder / "__init__.py")
    done = trex("check", "q.toml", "--model", f"{form.format(m=module)}plain")
    assert done.exit_code == 0, done.stderr


def test_the_current_folder_may_be_named_over_a_link(module: str, tmp_path: Path) -> None:
    """As /tmp is a link on macOS, and getcwd() gives the place behind it."""
    link = tmp_path.parent / f"link_{module}"
    link.symlink_to(tmp_path)
    done = trex("check", "q.toml", "--model", f"{link}/pkg_{module}/{module}.py:plain")
    assert done.exit_code == 0, done.stderr


def test_a_dot_in_the_name_of_a_file_is_told(module: str, tmp_path: Path) -> None:
    (tmp_path / f"{module}.v2.py").write_text("")
    done = trex("check", "q.toml", "--model", f"{module}.v2.py:plain")
    assert done.exit_code == 2 and "has a dot in its name" in done.stderr, done.stderr


@pytest.mark.parametrize("form", [".{m}:", "..{m}:", "../{m}.py:", "{m}.py"])
def test_what_an_error_says_to_write_works(
    form: str, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if form.startswith("../"):
        monkeypatch.chdir(tmp_path / f"pkg_{module}")
    query = tmp_path / "q.toml"
    spec = form.format(m=module) + ("plain" if ":" in form else "")
    refused = trex("check", query, "--model", spec)
    assert refused.exit_code == 2 and refused.stderr.count("\n") == 1
    advice = re.search(
        r"(?:run trex in (\S+), and )?write (\S+)|name a function of the file, (\S+)", refused.stderr
    )
    assert advice, refused.stderr
    if advice[1]:
        monkeypatch.chdir(advice[1])
    written = advice[2] or advice[3].replace("FUNCTION", "plain")
    assert trex("check", query, "--model", written).exit_code == 0, refused.stderr


def test_a_missing_file_is_named(module: str, tmp_path: Path) -> None:
    done = trex("check", "q.toml", "--model", "pkg/none.py:plain")
    assert done.exit_code == 2 and f"{tmp_path}/pkg/none.py is not a file" in done.stderr


def test_a_world_may_be_given_by_its_path_too(module: str, tmp_path: Path) -> None:
    (tmp_path / f"world_{module}.py").write_text("from tests.worlds.toy_disk import disk\n")
    (tmp_path / "far.toml").write_text(f'answer = "far"\n[generator]\nname = "./world_{module}.py:disk"\n')
    assert trex("check", "far.toml").exit_code == 0
