"""All tests of a page together give a false alarm as often as one alone would."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from trex.inference.statistics.paired import Paired
from trex.report import compare as module
from trex.report.compare import PairedTest, compare


@pytest.mark.parametrize(("runs", "is_clear"), [(2, True), (3, False)])
def test_a_p_value_is_corrected_for_all_pairs_of_runs(
    runs: int, is_clear: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: each of three pairs was tested at 5%."""
    monkeypatch.setattr(module, "_read", lambda path, name: SimpleNamespace(name=name))
    monkeypatch.setattr(module, "_shared", lambda one, other: [])
    monkeypatch.setattr(module, "_why_not", lambda one, other, n: "")
    alone = PairedTest("a", "b", "right answers", Paired(0, 9, 1, 0), 0.02)
    monkeypatch.setattr(module, "_tests", lambda one, other, shared: [alone])
    found = compare([Path(f"run-{k}") for k in range(runs)]).tests
    pairs = runs * (runs - 1) // 2
    assert [one.p_value for one in found] == pytest.approx([0.02 * pairs] * pairs)
    assert all(one.is_clear is is_clear for one in found)
