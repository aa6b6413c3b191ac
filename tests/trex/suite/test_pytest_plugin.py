"""`pytest --trex-suite` in an empty project, as a user calls it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trex.suite.batch import read_batches
from trex.suite.look import LastRun, SuiteLook, write_last_run

pytestmark = pytest.mark.process

NO_BLENDER = "raise ImportError('a suite needs no Blender')\n"


@pytest.fixture
def project(made: Path, tmp_path: Path) -> Path:
    """A folder with nothing but a suite, and a `bpy` that cannot be imported."""
    shutil.copytree(made, tmp_path / "suite")
    (tmp_path / "bpy.py").write_text(NO_BLENDER)
    return tmp_path


def keys(project: Path) -> list[str]:
    return [batch.key(scene) for batch in read_batches(project / "suite") for scene in batch.content.scenes]


def call_pytest(project: Path, *options: str) -> tuple[int, str]:
    """pytest with the plugin, named on the command line: the installed metadata may be older than this test."""
    environment = os.environ | {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_ADDOPTS": "",
        "PYTHONPATH": os.pathsep.join([str(project), *filter(None, sys.path)]),
    }
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "trex.suite.pytest_plugin",
        "-p",
        "no:cacheprovider",
        "-rA",
    ]
    done = subprocess.run(
        [*words, *options], cwd=project, env=environment, capture_output=True, text=True, timeout=240
    )
    return done.returncode, done.stdout + done.stderr


ASK = ("--trex-suite", "suite", "--trex-model", "fake")


@pytest.mark.slow
def test_one_test_a_scene_and_known_failures_are_expected(project: Path) -> None:
    n = len(keys(project))
    code, out = call_pytest(project, *ASK)
    assert code == 0 and f"{n} xfailed" in out, out


def test_a_scene_that_the_last_run_had_right_fails(project: Path) -> None:
    first, *others = keys(project)
    failed = {first: False, "gone/a.png": True} | dict.fromkeys(others, True)
    write_last_run(project / "suite", LastRun("m", failed))
    code, out = call_pytest(project, *ASK, "--junitxml", "j.xml")
    assert "PytestWarning: suite: 1 scene of the last run is gone from the suite." in out, out
    assert code == 1 and f"1 failed, {len(others)} xfailed" in out, out
    assert f"FAILED suite::{first}" in out and "true answer" in out and "Traceback" not in out
    assert (project / "j.xml").is_file()


@pytest.mark.slow
def test_rendered_scenes_are_compared_with_the_last_run_of_their_look(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREX_CACHE", str(project / "cache"))
    first, *others = keys(project)
    write_last_run(project / "suite", LastRun("m", dict.fromkeys([first, *others], False)))
    write_last_run(
        project / "suite", LastRun("m", {first: False} | dict.fromkeys(others, True)), SuiteLook("fake-small")
    )
    code, out = call_pytest(project, *ASK, "--trex-render", "fake-small")
    assert code == 1 and f"1 failed, {len(others)} xfailed" in out, out
    assert len(list((project / "cache").rglob("*.picture"))) == len(others) + 1
    for options, words in (
        ((*ASK, "--trex-render", "no_such_preset"), "preset 'no_such_preset'"),
        (("--trex-render", "fake"), "--trex-render needs both"),
    ):
        code, out = call_pytest(project, *options)
        assert code == 4 and words in out, out


@pytest.mark.slow
def test_a_damaged_suite_and_a_missing_model_are_usage_errors(project: Path) -> None:
    code, out = call_pytest(project, *ASK[:2])
    assert code == 4 and "--trex-model belong together" in out, out
    picture = next((project / "suite").glob("*/images/found/*.png"))
    picture.write_bytes(picture.read_bytes() + b"\0")
    code, out = call_pytest(project, *ASK)
    assert code == 4 and "was changed after it was added" in out, out


def test_without_the_options_nothing_changes(project: Path) -> None:
    assert call_pytest(project)[0] == pytest.ExitCode.NO_TESTS_COLLECTED
    assert json.loads((project / "suite" / keys(project)[0].partition("/")[0] / "batch.json").read_text())
