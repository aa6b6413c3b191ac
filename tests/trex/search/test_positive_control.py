"""The positive control of a run: two levels, stored as phases of their own, resumed from any line to the same draws."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.running.runs import draws, go_on, leave_draws, run
from trex.foundation.errors import RunError
from trex.inference.statistics import control
from trex.runs.draw_log import DrawChecks, read_draws
from trex.runs.record import CONTROLS, Record

NEVER = ["answer=1", "target.width=1e-6", "search.prior_scenes=100", "search.chains=4", "search.steps=40"]


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels that 100 prior scenes suffice for, and that every search passes."""
    monkeypatch.setattr(control, "LEVEL", 0.95)
    monkeypatch.setattr(control, "SHARE", 0.25)
    monkeypatch.setattr(control, "MASSES", (0.04, 0.02))


def phases(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(record.phase for record in records))


@pytest.mark.slow
@pytest.mark.usefixtures("lenient")
def test_a_second_rung_follows_the_first_and_resumes_from_any_line(tmp_path: Path) -> None:
    done = run(tmp_path, NEVER)
    whole, records = draws(done.folder), read_draws(done.folder / "draws.jsonl")
    assert phases(records) == ["prior", "chain", *CONTROLS]
    assert done.results.control.count("prior mass") == 2
    lines = whole.splitlines(keepends=True)
    first, second = (
        next(k for k, record in enumerate(records) if record.phase == phase) for phase in CONTROLS
    )
    for kept in (first - 1, first, first + 1, second - 1, second, second + 1, second + 5, len(lines) - 1):
        leave_draws(done.folder, b"".join(lines[:kept]))
        again = go_on(done.folder)
        assert draws(again.folder) == whole
        assert again.results.control == done.results.control


def test_a_rung_that_is_missed_ends_the_control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MASSES", (0.04, 0.02))
    monkeypatch.setattr(control.Control, "needed", 4)
    monkeypatch.setattr(control.Control, "window", 1)
    done = run(tmp_path, NEVER)
    assert phases(read_draws(done.folder / "draws.jsonl"))[-1] == CONTROLS[0]
    assert "says no more than the prior draws" in done.results.control


def test_too_few_prior_scenes_are_said(tmp_path: Path) -> None:
    done = run(tmp_path, ["answer=6", "target.width=1e-6"])
    assert phases(read_draws(done.folder / "draws.jsonl")) == ["prior", "chain"]
    assert "No positive control could be run" in done.results.control


def test_a_third_rung_is_no_phase(tmp_path: Path) -> None:
    done = run(tmp_path, ["search.steps=0"])
    (record, *_) = read_draws(done.folder / "draws.jsonl")
    with pytest.raises(RunError, match="not known"):
        DrawChecks(done.manifest).take(Record("control-3", 0, 0, *_fields(record)))


def _fields(record: Record) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in record.__slots__[3:])
