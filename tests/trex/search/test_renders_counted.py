"""A search counts each picture at the look where it was rendered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.running.looks import SMALL, TINY, use_ladder
from tests.running.runs import BANK, run
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.scenes.scene import Scene


def test_pictures_of_every_look_are_counted_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a calibration's pictures at a cheaper look counted as the deciding look's, too."""
    monkeypatch.setenv("TREX_BANK", str(tmp_path / "banks"))
    use_ladder(monkeypatch, TINY, SMALL)
    made: Counter[int] = Counter()
    whole = FakeRenderer.render

    def counting(renderer: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        made[renderer.width] += len(zs)
        return whole(renderer, zs)

    done = run(tmp_path, [*BANK, "search.inner=2", "search.steps=2"], "search")
    monkeypatch.setattr(FakeRenderer, "render", counting)
    monkeypatch.setenv("TREX_BANK", str(tmp_path / "others"))
    again = run(tmp_path, [*BANK, "search.inner=2", "search.steps=2"], "again")
    assert again.results.renders == done.results.renders and made[3] and made[60]
    extra = made[120] - again.results.renders
    assert 0 <= extra <= 3, f"{extra} pictures besides the search's: checks of the renderer before it"
