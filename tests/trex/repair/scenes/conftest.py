"""A finished repair on scenes, carried out once for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trex.repair.scenes.planted import carried_out


@pytest.fixture(scope="session")
def repaired(slow: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished repair of the shipped model on flat drawings, on which it misreads much."""
    path = tmp_path_factory.mktemp("repaired") / "r"
    carried_out(path)
    return path
