"""Tiny models of transformers, saved once: what all tests here load."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

LABELS = ("0", "1", "two", "2", "yes", "no", "grey", "net", "red and blue")


def makers() -> dict[str, Callable[[], tuple[Any, Any]]]:
    """How the tiny models are made; imported here, so that without transformers the tests are skipped."""
    from tests.references import tiny_transformers as tiny

    return {
        "llava": tiny.llava,
        "without template": lambda: tiny.llava(template=None),
        "qwen": tiny.qwen,
        "git": tiny.git,
        "blip-2 with t5": tiny.blip2_t5,
        "paligemma": tiny.paligemma,
        "florence-2": tiny.florence2,
        "vilt": lambda: tiny.vilt(LABELS),
    }


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny model by its name in `makers`."""
    root = tmp_path_factory.mktemp("models of transformers")
    folders: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in folders:
            from tests.references.tiny_transformers import save

            folders[name] = save(root / name, *makers()[name]())
        return folders[name]

    return folder


@pytest.fixture(autouse=True)
def _alike(one_thread: None) -> None:
    """One thread, so that sums come out alike."""


@pytest.fixture
def pictures() -> NDArray[np.float32]:
    """(3, 80, 120, 3): noise of 8 bits, each picture with a mean color of its own."""
    rng = np.random.default_rng(5)
    tints = np.array([[1, 0.2, 0.2], [0.2, 1, 0.2], [0.6, 0.6, 1]])
    found = rng.integers(0, 256, (3, 80, 120, 3)) * tints[:, None, None]
    return (np.rint(found) / 255).astype(np.float32)
