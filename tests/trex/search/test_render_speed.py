"""How long a search will take, as `trex check` says it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.running.command_line import trex
from tests.running.runs import QUERY, write_query
from trex.foundation.words import rough_span
from trex.query.schema import Query
from trex.query.toml_file import parse_query
from trex.search.render_speed import BESIDE_S, FILE, NOISE, START_S, VIEWS, estimate, measured
from trex.search.sampling.budget import most_pictures
from trex.worlds.costs import CPU_S, inner_steps
from trex.worlds.kernels import check_search
from trex.worlds.looks import LADDER


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
    assert found.seconds == pytest.approx(100 * (CPU_S["reference"] / 2 + BESIDE_S) + START_S)
    assert found.sentence().startswith("about 4 min, at the speed documented")


def test_after_a_search_it_is_the_speed_measured_with_the_same_preset_and_processes(cache: Path) -> None:
    with measured(query("fast"), Counted(1000)):
        pass
    (each,) = json.loads((cache / FILE).read_text()).values()
    found = estimate(query("fast"), 50)
    assert found is not None
    assert found.seconds == pytest.approx(50 * each + START_S)
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


@pytest.mark.parametrize("lead", LADDER)
def test_whichever_look_leads_the_estimate_is_an_upper_bound(lead: str) -> None:
    """Planted bug: every cheap picture was taken for one at the cheapest look."""
    query = check_search(
        parse_query(QUERY, "test", ["render.preset=reference", "render.processes=1", "search.bank=1000"]),
        "scene",
        has_noise=True,
    )
    most, search = most_pictures(query), query.search
    found = estimate(query, most.deciding, most.cheap, most.cheap_cpu_s)
    scored = 1000 * (CPU_S["analytic"] + (CPU_S[lead] if lead in ("sketch", "fast", "coarse") else 0.0))
    inner = search.chains * search.steps * inner_steps(query, lead) * CPU_S[lead]
    assert found is not None and found.seconds >= most.deciding * CPU_S["reference"] + scored + inner


def asked_of(preset: str, bank: int) -> Query:
    settings = [f"render.preset={preset}", "render.processes=1", f"search.bank={bank}"]
    return check_search(parse_query(QUERY, "test", settings), "scene", has_noise=True)


def test_every_look_that_may_be_rendered_starts_a_blender_of_its_own() -> None:
    """Planted bug: no start was counted, so that a search of 40 drafts was to take 5 s and took 15."""
    alone = estimate(asked_of("draft", 40), 0)
    led = estimate(asked_of("reference", 1000), 0)
    assert alone is not None and alone.seconds == START_S
    assert led is not None and led.seconds == len(LADDER) * START_S  # none for the analytic look


def test_a_search_with_a_bank_is_never_measured_and_is_not_said_to_be_measured_later() -> None:
    with_bank, without = estimate(asked_of("fast", 100), 1), estimate(asked_of("fast", 0), 1)
    assert with_bank is not None and "no search was measured" not in with_bank.sentence()
    assert without is not None and without.sentence().endswith("; no search was measured here yet")


def test_check_counts_the_large_pictures_that_find_renders_by_default(tmp_path: Path) -> None:
    """Planted bug: most of the time of a short search was not in the estimate."""
    path = write_query(tmp_path, QUERY.replace('preset = "fake"', 'preset = "draft"'))
    text = trex("check", path).stdout
    assert (
        "; large pictures of up to 8 hits take about 45 s more (--no-large skips them); 112 pictures of how far they "
        "hold take" in text
    )
    assert text.count("more (--no-explain skips them)") == 1
    data = json.loads(trex("check", path, "--json").stdout)
    assert data["large_at_most"] == 8 and data["again_at_most"] == 8 * (NOISE + VIEWS) == 112
    assert data["again_seconds_at_most_about"] > 0
    assert data["large_seconds_at_most_about"] == pytest.approx(8 * (CPU_S["reference"] + BESIDE_S) + START_S)


def test_views_and_noise_draws_are_counted_where_a_scene_is_rendered_again(tmp_path: Path) -> None:
    """Planted bug: a viewpoint took as many viewpoints again."""
    sets = ("--set", "render.noise=2", "--set", "render.views=3")
    path = write_query(tmp_path, QUERY.replace('preset = "fake"', 'preset = "draft"'))
    data = json.loads(trex("check", path, "--json", *sets).stdout)
    assert data["again_at_most"] == 8 * (NOISE * 6 + VIEWS * 2)


@pytest.mark.parametrize("preset", ["reference", "fake"])
def test_no_large_pictures_are_announced_that_are_never_rendered(tmp_path: Path, preset: str) -> None:
    path = write_query(tmp_path, QUERY.replace('preset = "fake"', f'preset = "{preset}"'))
    text = trex("check", path).stdout
    assert "large pictures" not in text and ("how far they hold" in text) == (preset == "reference")


def test_an_estimate_is_rounded_up_to_what_it_can_know() -> None:
    seconds = (0, 3, 61, 1433, 7321, 384_360)
    assert [rough_span(s) for s in seconds] == ["0 s", "5 s", "1 min 05 s", "24 min", "2 h 10 min", "107 h"]
