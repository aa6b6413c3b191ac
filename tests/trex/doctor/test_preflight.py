"""What is said before anything is installed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from trex.doctor import preflight

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
