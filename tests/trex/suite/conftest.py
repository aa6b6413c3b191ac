"""A run with wrong hits, and the suite that is made of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.running.command_line import trex
from tests.running.runs import run, without_reports


@pytest.fixture(scope="session")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with without_reports():
        return run(tmp_path_factory.mktemp("searched"), ["search.steps=30", "search.seed=2"]).folder


@pytest.fixture(scope="session")
def made(searched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    suite = tmp_path_factory.mktemp("made") / "suite"
    with without_reports():
        result = trex("suite", "add", searched, "--to", suite)
    assert result.exit_code == 0, result.output
    return suite


@pytest.fixture
def suite(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "suite"))
