"""How long a search will take, as `trex check` says it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.running.command_line import trex
from tests.running.runs import QUERY, write_query
from trex.foundation.words import span
from trex.query.schema import Query
from trex.query.toml_file import parse_query
from trex.search.render_speed import BESIDE_S, FILE, estimate, measured
from trex.search.sampling.budget import most_pictures
from trex.worlds.costs import CPU_S, inner_steps
from trex.worlds.kernels import check_search
from trex.worlds.looks import ladder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def query(preset: str, processes: int = 2) -> Query:
    return parse_query(QUERY, "test", [f"render.preset={preset}", f"render.processes={processes}"])


class Counted:
    """A search that has made so many renders."""

    def __init__(self, renders: int) -> None:
        self.renders = renders


def test_before_any_search_it_is_the_documented_speed_shared_by_the_processes() -> None:
    found = estimate(query("reference"), 100)
    assert found is not None
    assert found.seconds == pytest.approx(100 * (CPU_S["reference"] / 2 + BESIDE_S))
    assert found.sentence().startswith(f"about {span(found.seconds)}, at the speed documented")


def test_after_a_search_it_is_the_speed_measured_with_the_same_preset_and_processes(cache: Path) -> None:
    with measured(query("fast"), Counted(1000)):
        pass
    (each,) = json.loads((cache / FILE).read_text()).values()
    found = estimate(query("fast"), 50)
    assert found is not None
    assert found.seconds == pytest.approx(50 * each)
    assert "measured on this machine" in found.sentence()
    for other in (query("fast", 1), query("draft")):
        assert "documented" in (estimate(other, 50) or found).sentence()


def test_a_few_pictures_and_failed_searches_are_no_measurement(cache: Path) -> None:
    with measured(query("fast"), Counted(3)):
        pass
    with pytest.raises(KeyboardInterrupt), measured(query("fast"), Counted(1000)):
        raise KeyboardInterrupt
    assert not cache.exists()


def test_a_damaged_file_of_measurements_is_measured_anew(cache: Path) -> None:
    cache.mkdir()
    (cache / FILE).write_text('{"clevr fast auto 2": [')
    assert "documented" in (estimate(query("fast"), 1) or pytest.fail("no estimate")).sentence()
    with measured(query("fast"), Counted(1000)):
        pass
    assert "measured" in (estimate(query("fast"), 1) or pytest.fail("no estimate")).sentence()


def test_check_says_the_time_and_the_model_as_the_user_named_it(tmp_path: Path) -> None:
    text = QUERY.replace('name = "fake"', 'name = "shipped"').replace('preset = "fake"', 'preset = "fast"')
    result = trex("check", write_query(tmp_path, text))
    assert result.exit_code == 0, result.stderr
    assert "\nmodel     shipped" in result.stdout
    assert "\ntime      at most about " in result.stdout


@pytest.mark.parametrize("lead", ladder("reference"))
def test_whichever_look_leads_the_estimate_is_an_upper_bound(lead: str) -> None:
    """Planted bug: every cheap picture was taken for one at the cheapest look."""
    asked = check_search(
        parse_query(QUERY, "test", ["render.preset=reference", "render.processes=1", "search.bank=1000"]),
        "scene",
        has_noise=True,
    )
    most, search = most_pictures(asked), asked.search
    found = estimate(asked, most.deciding, most.cheap, most.cheap_cpu_s)
    scored = 1000 * (CPU_S["sketch"] + (CPU_S[lead] if lead != "sketch" else 0.0))
    inner = search.chains * search.steps * inner_steps(asked, lead) * CPU_S[lead]
    assert found is not None and found.seconds >= most.deciding * CPU_S["reference"] + scored + inner
