"""Wheels and an sdist of this tree, each made once, and the main one in a virtual environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "Makefile")
FOLDERS = ("queries", "worlds")  # besides the packages
LEFT = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info", "build", "dist")
BUILD = "import sys, setuptools.build_meta as build; getattr(build, sys.argv[1])(sys.argv[2])"
Trex = Callable[..., subprocess.CompletedProcess[str]]


def build(tree: Path, kind: str, out: Path) -> Path:
    """The wheel or sdist of a tree, by the backend alone: nothing is downloaded."""
    out.mkdir(exist_ok=True)
    command = [sys.executable, "-c", BUILD, f"build_{kind}", str(out)]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = out.iterdir()
    return path


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this tree with its links, its tests and benchmarks: a build leaves files where it is done."""
    copy = tmp_path_factory.mktemp("tree")
    for path in ROOT.iterdir():
        if path.name in FILES:
            shutil.copy(path, copy)
        elif path.name in FOLDERS or (path / "__init__.py").is_file():
            shutil.copytree(path, copy / path.name, symlinks=True, ignore=LEFT)
    return copy


@pytest.fixture(scope="session")
def wheel(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the tree."""
    return build(tree, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def worlds(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the extra `worlds`."""
    return build(tree / "worlds", "wheel", tmp_path_factory.mktemp("worlds"))


@pytest.fixture(scope="session")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel in it, and the dependencies of the Python that runs the tests."""
    place = tmp_path_factory.mktemp("clean")
    run([sys.executable, "-m", "venv", "--without-pip", str(place)], place, os.environ)
    python = place / "bin" / "python"
    options = ["--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check", "-q"]
    run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", *options, str(wheel)],
        place,
        os.environ,
    )
    (packages,) = place.glob("lib/python*/site-packages")
    ours = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (packages / "dependencies.pth").write_text("\n".join(ours) + "\n")
    return python


@pytest.fixture(scope="session")
def trex(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Trex:
    """Calls the installed `trex` in an empty folder that is nowhere near the tree."""
    place = tmp_path_factory.mktemp("elsewhere")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "TREX_"))}
    environment |= {"TREX_CACHE": str(place / "cache")}

    def call(*words: str, command: tuple[str, ...] = ("trex",)) -> subprocess.CompletedProcess[str]:
        first, *more = command
        return run([str(python.parent / first), *more, *words], place, environment)

    return call


def run(command: list[str], place: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The command, which has to succeed."""
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done
