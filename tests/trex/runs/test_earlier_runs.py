"""A run that an earlier version wrote opens like one of today's: `format_1` is such a run, of six draws.

Its model has no answers to probe pictures; two were added to `run.json` by hand, under the name of that time.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from trex.auditing.records import SETTINGS, Settings
from trex.runs.draw_log import run_draws
from trex.runs.folder import open_run
from trex.search.results import read_results
from trex.trials.confirmation import read_confirmation

EARLIER = Path(__file__).with_name("format_1")


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EARLIER, tmp_path / "run"))


def test_a_run_of_an_earlier_version_holds_what_it_held(earlier: Path) -> None:
    with open_run(earlier, for_writing=False) as folder:
        draws = run_draws(folder)
        results = read_results(folder.manifest, draws)
        confirmed = read_confirmation(folder, "reference")
    assert folder.manifest.made.probe_probabilities == (0.25, 0.75)
    assert [draw.phase for draw in draws] == ["prior"] * 4 + ["chain"] * 2
    assert len(results.found) == 5 and results.how_often.hits == 4
    assert confirmed is not None and len(confirmed.scenes) == 5


def test_settings_of_an_earlier_audit_keep_the_answers_to_probe_pictures() -> None:
    today = Settings(
        "m", "w", "v", 10, 5, 2, "fast", "reference", 0.9, 3, 0, {}, probe_probabilities=(0.1, 0.9)
    )
    stored = json.loads(SETTINGS.text(today))
    stored["tried"] = stored.pop("probe_probabilities")
    assert SETTINGS.parse(json.dumps(stored), "audit.json", "start anew") == today
