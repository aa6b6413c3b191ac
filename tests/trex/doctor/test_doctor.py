"""`trex doctor`: what is there, what is not, and what to do about it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import namedtuple
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trex.commands.shell.app import app
from trex.doctor import preflight
from trex.doctor.examine import model_findings
from trex.doctor.finding import Finding, State
from trex.doctor.machine import machine_findings, package_findings
from trex.doctor.preflight import advice, problems
from trex.doctor.rendering import rendering_findings, shading_findings
from trex.foundation.errors import OURS
from trex.render.blender.program import blender_program

Usage = namedtuple("Usage", "total used free")


def named(findings: list[Finding], part: str) -> Finding:
    (found,) = [finding for finding in findings if finding.part == part]
    return found


def test_this_installation_has_all_that_a_search_needs() -> None:
    found = [*machine_findings(), *package_findings(), *model_findings()]
    assert not [finding for finding in found if finding.state is State.FAULT]
    assert all(
        finding.remedy for finding in found if finding.state is State.ABSENT and finding.part != "memory"
    )


@pytest.mark.blender
@pytest.mark.process
def test_blender_is_started_and_renders() -> None:
    found = rendering_findings()
    assert [finding.state for finding in found] == [State.OK, State.OK]
    assert blender_program().version in found[0].found and "a scene of 240×160 in" in found[1].found


def test_the_analytic_look_is_compiled_by_it() -> None:
    (shaded,) = shading_findings()
    assert shaded.state is State.OK and "compiled in" in shaded.found


def test_a_wrong_blender_is_a_fault_with_a_remedy_and_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TREX_BLENDER", str(tmp_path / "no-blender"))
    (fault,) = rendering_findings()
    assert fault.state is State.FAULT and "no-blender" in fault.remedy
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == OURS
    assert "1 fault: Blender" in result.output and "name a Blender executable" in result.output
    listed = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    assert [item["part"] for item in listed if item["state"] == "fault"] == ["Blender"]


def test_a_missing_extra_says_how_to_add_it_and_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    there = metadata.version

    def version(name: str) -> str:
        if name == "pyarrow":
            raise metadata.PackageNotFoundError(name)
        return there(name)

    monkeypatch.setattr(metadata, "version", version)
    export = named(package_findings(), "extra export")
    assert (export.state, export.found) == (State.ABSENT, "missing: pyarrow")
    assert export.remedy == "pip install 'bayes-trex[export]'"
    assert named(package_findings(), "extra farm").state is State.OK


def test_weights_of_an_extra_are_missing_or_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert named(model_findings(), "extra worlds").state is State.OK
    (tmp_path / "mnist-gan.json").write_text("{}")
    monkeypatch.setattr("trex.mnist_models.load.SHIPPED", tmp_path)
    monkeypatch.setenv("TREX_CACHE", str(tmp_path))
    found = named(model_findings(), "extra worlds")
    assert (found.state, found.found) == (State.ABSENT, "missing: mnist-gan")
    assert found.remedy == "pip install 'bayes-trex[worlds]'"


def test_a_package_of_a_version_that_does_not_fit_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    there = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "0.1" if name == "pyro-ppl" else there(name))
    base = named(package_findings(), "packages")
    assert base.state is State.FAULT and "pyro-ppl 0.1 (needs ==" in base.found


def test_a_full_disk_and_a_cache_that_is_no_folder_are_faults(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "new" / "cache"))
    assert "not made yet" in named(machine_findings(), "cache").found
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9, 1000))
        full = named(machine_findings(), "cache")
        assert full.state is State.FAULT and "trex cache prune" in full.remedy
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "file"))
    wrong = named(machine_findings(), "cache")
    assert wrong.state is State.FAULT and "TREX_CACHE" in wrong.remedy


def test_a_cache_below_a_folder_that_may_not_be_entered_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Planted bug: the error of looking there ended the whole report. (Root may enter every folder.)"""
    stat, access = os.stat, os.access
    closed = tmp_path / "closed"

    def is_below(path: object) -> bool:
        return str(path).startswith(f"{closed}/")

    def refused(path: object, *words: object, **more: object) -> os.stat_result:
        if is_below(path):
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, *words, **more)  # type: ignore[arg-type]

    closed.mkdir()
    monkeypatch.setenv("TREX_CACHE", str(closed / "x" / "cache"))
    monkeypatch.setattr(os, "stat", refused)
    monkeypatch.setattr(os, "access", lambda path, mode: path != closed and access(path, mode))
    found = named(machine_findings(), "cache")
    assert found.state is State.FAULT and f"{closed} is not writable" in found.found


@pytest.mark.parametrize("version", [(3, 10), (3, 15)])
def test_other_pythons_are_refused_before_anything_is_installed(version: tuple[int, int]) -> None:
    assert any("3.11 to 3.14 are, and with 3.13 or 3.11 Blender" in line for line in problems(version))


def test_where_bpy_is_no_dependency_the_installation_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TREX_BLENDER", raising=False)
    assert advice((3, 11)) == advice((3, 13)) == []
    assert "set TREX_BLENDER" in advice((3, 12))[0] and "set TREX_BLENDER" in advice((3, 14))[0]
    monkeypatch.setenv("TREX_BLENDER", "/usr/bin/blender")
    assert advice((3, 12)) == []


ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("user", "line"), [(0, "    apt-get install -y libgl1"), (1000, "    sudo apt-get install")]
)
def test_a_root_shell_is_not_told_to_use_sudo(monkeypatch: pytest.MonkeyPatch, user: int, line: str) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(preflight, "missing_packages", lambda version: ["libgl1"])
    assert any(line in problem for problem in preflight.problems((3, 11)))


def made(*words: str) -> str:
    """What `make` would do."""
    command = ["make", "-n", "-B", "-C", str(ROOT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.process
def test_torch_without_cuda_is_installed_first_if_asked_for_and_pip_shows_its_progress() -> None:
    lines = [line for line in made("demo", "TORCH=cpu").splitlines() if "pip install" in line]
    assert "download.pytorch.org/whl/cpu" in lines[0]
    assert lines[1].endswith("-e .")
    assert not any("--quiet" in line for line in lines)
    assert "download.pytorch.org" not in made("demo")


@pytest.mark.process
def test_make_test_runs_checks_and_tests() -> None:
    text = made("test")
    for word in ("ruff check", "mypy", "lint-imports", "pytest -n 3"):
        assert word in text
