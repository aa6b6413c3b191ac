"""Each test has an empty cache of its own, and no key, address or token of whoever runs it."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "TREX_MODEL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
