"""No search renders more, but for fresh draws, than `trex check` says, also one with a small sample of a bank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex
from tests.running.looks import SMALL, TINY, use_ladder
from tests.running.runs import BANK, QUERY, SEARCHES, run, write_query
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.runs.draw_log import read_draws, run_draws
from trex.runs.folder import open_run
from trex.runs.record import CHAIN, CONTROLS, LIKELY, PRIOR, SPREAD
from trex.scenes.scene import Scene
from trex.search.sampling.budget import most_pictures
from trex.worlds.latents import identity


@pytest.mark.parametrize("overrides", SEARCHES.values(), ids=SEARCHES)
def test_no_search_renders_more_than_check_says(overrides: list[str], tmp_path: Path) -> None:
    done = run(tmp_path, [*overrides, "search.stop_when_found=0"])
    most, noise = most_pictures(done.manifest.query), done.manifest.query.render.noise
    with open_run(done.folder, for_writing=False) as folder:
        phases = Counter(record.phase for record in run_draws(folder) if record.is_rendered)
    assert 0 < noise * (phases[LIKELY] + phases[PRIOR] + phases[CHAIN] + phases[SPREAD]) <= most.deciding
    assert noise * sum(phases[phase] for phase in CONTROLS) <= most.control
    assert done.results.cheap <= most.cheap


@pytest.mark.slow
def test_cheap_steps_of_a_control_are_counted_apart(tmp_path: Path) -> None:
    done = run(tmp_path, [*BANK, *SEARCHES["control"], "search.inner=3", "search.bank=300"])
    with open_run(done.folder, for_writing=False) as folder:
        of_control = sum(
            record.figures.get("inner_renders", 0) for record in run_draws(folder) if record.phase in CONTROLS
        )
    most = most_pictures(done.manifest.query)
    assert 0 < of_control <= most.control_cheap
    assert done.results.cheap - of_control <= most.cheap


def test_further_scenes_beyond_the_steps_of_the_chains_are_counted(tmp_path: Path) -> None:
    few = run(tmp_path, [*SEARCHES["common"], "search.steps=6"])
    assert most_pictures(few.manifest.query).deciding == 60 + 2000 >= few.results.renders > 60 + 3 * 6


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_smaller_than_the_number_of_chains_still_starts_them_all(seed: int, tmp_path: Path) -> None:
    few = ["search.prior_scenes=12", "search.chains=12", "search.steps=2", "search.kernel=block"]
    done = run(tmp_path, [*BANK, *few, f"search.seed={seed}", "answer=6", "search.control=false"])
    assert len({draw.chain for draw in done.results.chains}) == 12


def test_a_random_sample_that_may_be_empty_is_refused(tmp_path: Path) -> None:
    query = write_query(tmp_path, QUERY)
    few = ("--set", "search.prior_scenes=8", "--set", "search.chains=2")
    refused(trex("check", query, *few, "--set", "search.bank=60"), "search.prior_scenes = 8", "at least 12")
    for bank in (0, 8):
        assert "is valid" in trex("check", query, *few, "--set", f"search.bank={bank}").stdout


def test_pictures_of_every_look_are_counted_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted bug: a calibration's pictures at a cheaper look counted as the deciding look's, too."""
    monkeypatch.setenv("TREX_BANK", str(tmp_path / "banks"))
    use_ladder(monkeypatch, TINY, SMALL)
    numbers: Counter[int] = Counter()
    whole = FakeRenderer.render

    def counting(renderer: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        numbers[renderer.width] += len(zs)
        return whole(renderer, zs)

    done = run(tmp_path, [*BANK, "search.inner=2", "search.steps=2"], "search")
    monkeypatch.setattr(FakeRenderer, "render", counting)
    monkeypatch.setenv("TREX_BANK", str(tmp_path / "others"))
    again = run(tmp_path, [*BANK, "search.inner=2", "search.steps=2"], "again")
    assert again.results.renders == done.results.renders and numbers[3] and numbers[60]
    rows = read_draws(again.folder / "draws.jsonl", again.manifest)
    likely, sample = ({identity(row.z) for row in rows if row.phase == phase} for phase in (LIKELY, PRIOR))
    extra = numbers[120] + len(likely & sample) - again.results.renders  # those come from the bank
    assert 0 <= extra <= 3, f"{extra} pictures besides the search's: checks of the renderer before it"
