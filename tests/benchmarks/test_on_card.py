"""What waits for a graphics card: in order, once, and within its minutes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import on_card
from benchmarks.gpu import LOOKS
from benchmarks.on_card import FEW_STEPS, MODELS, WORLDS, Part, parts, work
from trex.query.shipped import query_path
from trex.render.presets import preset_named


def test_each_query_is_shipped_and_comes_behind_its_bank() -> None:
    todo = list(parts(Path("out"), "optix", "reference", bank=5000, spread=1000, steps=100))
    names = [part.name for part in todo]
    assert len(set(names)) == len(names) and names[0] == "gpu" and names[-1] == "audit"
    queries = [query for each in WORLDS.values() for query in each]
    assert len(queries) == 10 and all(query_path(Path(query)).exists() for query in queries)
    for world, each in WORLDS.items():
        rates = [names.index(f"rate-{query}-{model.partition(':')[0]}") for query in each for model in MODELS]
        assert min(rates) > names.index(f"bank-{world}") and max(rates) < names.index("audit") - len(
            FEW_STEPS
        )


def test_the_looks_that_a_card_is_measured_at_are_blenders() -> None:
    """Planted bug: the ladder's first look is shaded without Blender, which ended the benchmark at its begin."""
    assert all(preset_named(look).width for look in LOOKS)


def _wait(seconds: float) -> Part:
    return Part(f"wait {seconds}", ("timeit", "-n", "1", "-r", "1", f"import time; time.sleep({seconds})"))


@pytest.mark.process
def test_what_is_done_is_not_done_again_and_the_minutes_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_card, "PATIENCE_S", 20.0)
    todo = [_wait(0.0), Part("fails", ("no_such_module",)), _wait(60.0), _wait(1.0)]
    rows = list(work(todo, tmp_path, 5.0 / 60.0))
    assert [(row["part"], row["code"] == 0) for row in rows] == [
        ("wait 0.0", True), ("fails", False), ("wait 60.0", False),
    ]  # fmt: skip
    again: Iterator[dict[str, object]] = work(todo[:1] + todo[3:], tmp_path, 1.0)
    assert [row["part"] for row in again] == ["wait 1.0"]
    assert "No module named no_such_module" in (tmp_path / "fails.log").read_text()
