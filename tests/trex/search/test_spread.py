"""The spread sample of a world: rendered after a search, shared by all queries, counted in the rate of each."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.running.command_line import refused, trex
from tests.running.runs import (
    BANK,
    SEARCHES,
    change_manifest,
    draws,
    go_on,
    leave_draws,
    run,
    without_reports,
    write_query,
)
from tests.worlds import grainy_models
from trex.commands.results.run import open_run as opened
from trex.finding.conclude import Outcome
from trex.foundation.errors import InputError
from trex.inference.rng import SECOND_PHASE_STREAM, SPREAD_STREAM
from trex.inference.statistics.how_often import Part, SampledRate, rate_of, rate_words
from trex.inference.statistics.proportion import Interval, Proportion
from trex.inference.statistics.two_phase import (
    Estimate,
    Selection,
    estimate,
    inclusion_probabilities,
    own_numbers,
    spread_members,
)
from trex.query.toml_file import parse_query
from trex.render.fake import FakeRenderer
from trex.render.picture import Picture
from trex.runs.draw_log import read_draws
from trex.runs.folder import open_run
from trex.runs.record import BANK as BANK_PHASE
from trex.runs.record import LIKELY, NOISE, PRIOR, SPREAD, Record
from trex.scenes.scene import Scene
from trex.search.judging.caveats import spread_remarks
from trex.search.results import read_results
from trex.search.sampling.prior_plan import BANK_LEVEL, LEVEL, RESCORED_LEVEL, SAMPLED_LEVEL
from trex.worlds import costs
from trex.worlds.costs import ON_GPU, device_of, resolved_spread
from trex.worlds.kernels import check_search
from trex.worlds.latents import Latent, identity

pytestmark = pytest.mark.usefixtures("no_reports")
N, M = 60, 40
LED = [*BANK, "search.inner=3"]
SPREADING = [*LED, f"search.spread={M}"]


@pytest.fixture(autouse=True)
def banks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of banks of its own."""
    monkeypatch.setenv("TREX_BANK", str(tmp_path / "banks"))
    return tmp_path / "banks"


def rows(done: Outcome, *phases: str) -> list[Record]:
    every = read_draws(done.folder / "draws.jsonl", done.manifest)
    return [row for row in every if not phases or row.phase in phases]


def judged(done: Outcome) -> set[Latent]:
    """The scenes of a run's prior and spread draws."""
    return {identity(row.z) for row in rows(done, PRIOR, SPREAD)}


def spread_of(done: Outcome) -> set[Latent]:
    """The spread sample of a run's world."""
    bank = [identity(row.z) for row in rows(done, BANK_PHASE)]
    seed = done.manifest.query.search.bank_seed
    return {bank[member] for member in spread_members(seed, M, N)}


def counted(done: Outcome) -> list[float]:
    """1 for each hit of the counted sample."""
    target = done.manifest.target
    return [float(target.is_hit(draw.state.log_probs)) for draw in done.results.sample.counted[0]]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, int], Outcome]:
    """The same search without and with a spread sample, by the bank's seed and the size of the sample."""
    folder = tmp_path_factory.mktemp("runs")
    with without_reports(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("TREX_BANK", str(folder / "banks"))
        return {
            (seed, m): run(
                folder, [*LED, f"search.spread={m}", f"search.bank_seed={seed}"], f"run-{seed}-{m}"
            )
            for seed, m in ((0, 0), (0, M), (3, 0), (3, M))
        }


Runs = dict[tuple[int, int], Outcome]


def copied(done: Outcome, folder: Path) -> Outcome:
    """A run that a test may change."""
    return replace(done, folder=Path(shutil.copytree(done.folder, folder / "copy")))


@pytest.mark.parametrize("bank_seed", [0, 3])
def test_the_draws_of_before_come_first_and_the_rest_of_the_sample_after_them(
    bank_seed: int, runs: Runs
) -> None:
    before, done = runs[bank_seed, 0], runs[bank_seed, M]
    assert draws(done.folder).startswith(draws(before.folder))
    later = rows(done)[len(rows(before)) :]
    assert {row.phase for row in later if row.phase != NOISE} == {SPREAD}
    assert judged(done) == judged(before) | spread_of(done) and spread_of(done) - judged(before)
    assert len(rows(done, PRIOR, SPREAD)) == len(judged(done)), "no member twice"


@pytest.mark.parametrize("bank_seed", [0, 3])
def test_the_rate_is_the_two_phase_estimate_of_both_samples(bank_seed: int, runs: Runs) -> None:
    """Planted bugs: the chance to be in the first sample alone; the larger of the two chances."""
    done = runs[bank_seed, M]
    bank, sample = rows(done, BANK_PHASE), done.results.sample
    first = inclusion_probabilities(np.array([row.log_weight for row in bank]), 30)
    q = M / N
    either = first + q - first * q
    chosen = (own_numbers(0, SECOND_PHASE_STREAM, N) < first) | (own_numbers(bank_seed, SPREAD_STREAM, N) < q)
    known, selection = sample.counted
    assert selection.members.tolist() == np.flatnonzero(chosen).tolist()
    assert selection.inclusion == pytest.approx(either)
    assert [identity(draw.z) for draw in known] == [identity(bank[k].z) for k in selection.members]
    rate = done.results.how_often.rate
    assert isinstance(rate, SampledRate)
    expected = estimate(Selection(np.flatnonzero(chosen), either), np.array(counted(done)), SAMPLED_LEVEL)
    assert rate.interval == pytest.approx(expected.interval) and rate.count == sum(counted(done)) > 0
    assert rate.estimate.value == pytest.approx(expected.value)
    assert rate_of(np.array(counted(done)), selection, done.results.how_often.level).interval == rate.interval
    assert rate.spread is not None and rate.spread.of == len(spread_members(bank_seed, M, N))


def test_a_whole_bank_counts_as_a_plain_sample(tmp_path: Path) -> None:
    done = run(tmp_path, [*LED, f"search.spread={N}"])
    how = done.results.how_often
    assert (how.n, how.level, type(how.rate)) == (N, LEVEL, Proportion) and done.results.sample.is_whole


def test_hits_of_the_spread_sample_count_once_they_survive(tmp_path: Path) -> None:
    done = run(tmp_path, SEARCHES["spread"], "spread")
    without = run(tmp_path, [*SEARCHES["spread"], "search.spread=0"], "without")
    found = [hit for hit in done.results.found if hit.record.phase == SPREAD]
    assert found and len(done.results.found) == len(without.results.found) + len(found)
    assert all(hit.origin.endswith("of the spread sample") and hit.record.picture for hit in found)
    assert all(hit.noise and hit.noise.stay for hit in found)


def test_a_search_that_has_found_enough_spreads_too(tmp_path: Path) -> None:
    done = run(tmp_path, [*SPREADING, "search.stop_when_found=1"])
    assert {row.phase for row in rows(done)} == {BANK_PHASE, LIKELY, PRIOR, NOISE, SPREAD}
    assert judged(done) >= spread_of(done)


@pytest.mark.parametrize("part", [0.0, 0.4, 0.95])
def test_an_incomplete_spread_sample_leaves_the_rate_of_the_searchs_own(
    part: float, runs: Runs, tmp_path: Path
) -> None:
    """Planted bug: members that were not rendered yet counted as scenes outside of the level set."""
    own, done = runs[0, 0], copied(runs[0, M], tmp_path)
    whole, lines = draws(done.folder), draws(done.folder).splitlines(keepends=True)
    begin = len(rows(own))
    leave_draws(done.folder, b"".join(lines[: begin + int(part * len(rows(done, SPREAD)))]))
    with open_run(done.folder, for_writing=False) as folder:
        stopped = read_results(folder.manifest, read_draws(folder.draws, folder.manifest))
    assert stopped.how_often == own.results.how_often != done.results.how_often
    assert draws(go_on(done.folder).folder) == whole


def test_a_run_of_before_opens_with_the_rate_that_it_had(runs: Runs, tmp_path: Path) -> None:
    done = copied(runs[0, 0], tmp_path)

    def earlier(data: dict[str, Any]) -> None:
        del data["query"]["search"]["spread"], data["facts"]["spread"]

    assert done.results.how_often.level == SAMPLED_LEVEL
    change_manifest(done.folder, earlier, is_sealed=False)
    (done.folder / "finished").unlink()
    before = draws(done.folder)
    again = go_on(done.folder)
    assert again.results.how_often.level == RESCORED_LEVEL and draws(again.folder) == before
    block = run(tmp_path, [*BANK, "search.kernel=block"], "block")
    change_manifest(block.folder, earlier, is_sealed=False)
    assert opened(block.folder).results.how_often.level == BANK_LEVEL
    assert not spread_remarks(again.manifest, again.results.sample)


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> Counter[Latent]:
    """How often each scene was rendered at the deciding look."""
    numbers: Counter[Latent] = Counter()
    whole = FakeRenderer.render

    def counting(renderer: FakeRenderer, zs: Sequence[Scene]) -> list[Picture]:
        if renderer.width == FakeRenderer().width:
            numbers.update(identity(z) for z in zs)
        return whole(renderer, zs)

    monkeypatch.setattr(FakeRenderer, "render", counting)
    return numbers


def test_another_question_and_another_model_render_no_spread_scene_again(
    tmp_path: Path, rendered: Counter[Latent]
) -> None:
    """Planted bug: members chosen by each query's own seed."""
    quick = [*SPREADING, "search.steps=0", "render.fresh=0"]
    first = run(tmp_path, quick, "first")
    shared = spread_of(first)
    assert all(rendered[z] == 1 for z in shared)
    second = run(tmp_path, [*quick, "answer=1"], "second")
    third = run(tmp_path, [*quick, "search.seed=7", f"model.name={grainy_models.NAMED}"], "third")
    for done in (second, third):
        assert judged(done) >= shared and spread_of(done) == shared
    assert all(rendered[z] == 1 for z in shared), "pictures of the spread sample were made again"
    other = run(tmp_path, [*quick, "search.bank_seed=9"], "other")
    assert not spread_of(other) & shared


def test_a_bank_that_was_spread_ahead_leaves_nothing_of_it_to_render(
    tmp_path: Path, rendered: Counter[Latent]
) -> None:
    query = write_query(tmp_path)
    ahead = ("render", "bank", query, "--scenes", N, "--spread", M, "--preset", "fake")
    said = trex(*ahead)
    there = len(spread_members(0, M, N))
    assert f"{there} spread evenly over {N} at fake, {there} of them rendered now" in said.stdout
    assert "0 of them rendered now" in trex(*ahead).stdout
    before = set(rendered)
    done = run(tmp_path, [*SPREADING, "search.steps=0", "render.fresh=0"])
    assert before == spread_of(done) and all(rendered[z] == 1 for z in before)
    refused(trex("render", "bank", query, "--scenes", 5, "--spread", 6), "--spread 6", "from 1 to 5")


TOML = 'question = "How many cubes are there?"\nanswer = 1\n[model]\nname = "fake"\n'


def automatic(*overrides: str, device: str = "cpu") -> int:
    query = check_search(parse_query(TOML, "q.toml", overrides), "scene", has_noise=True)
    return resolved_spread(query, device)


def test_as_many_are_spread_as_cost_little() -> None:
    """500 pictures at `reference` take 19 minutes of two cores, and the bank of a cheap look is judged whole."""
    assert automatic() == automatic("render.preset=clevr") == automatic("render.preset=sketch") == 0
    assert automatic("render.preset=fast") == 500 and automatic("render.preset=fast", "render.looks=[]") == 0
    assert automatic(device="optix") == ON_GPU == 1000 == automatic("search.bank=5000", device="cuda")
    assert (
        automatic("search.bank=300", device="cuda") == 300 and automatic("search.bank=0", device="cuda") == 0
    )
    assert automatic("search.spread=200") == automatic("search.spread=200", device="cuda") == 200
    assert automatic("search.spread=0", device="cuda") == 0
    key = "blender 4.5 v1 480x320x16 denoise=high bounces=8 assets=0 device="
    assert (device_of(f"{key}cpu"), device_of(f"{key}optix"), device_of("fake v1")) == ("cpu", "optix", "cpu")


def test_500_are_spread_unasked_where_they_take_ten_minutes_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(costs.CPU_S, "reference", 2.4)
    assert automatic() == 500 == automatic("search.bank=900") and automatic("search.bank=200") == 200
    assert automatic("render.noise=2") == 0


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["search.spread=1001"], ["search.spread = 1001", "search.bank = 1000", "lower spread"]),
        (["search.spread=20", "search.bank=0"], ["search.spread = 20", "set it to 0"]),
        (["search.spread=-1"], ["spread"]),
    ],
)
def test_a_spread_sample_without_a_bank_for_it_is_refused(overrides: list[str], words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        automatic(*overrides)
    assert all(word in str(caught.value) for word in words)
    with pytest.raises(InputError, match="chosen from a bank"):
        check_search(parse_query(TOML, "q.toml", ["search.spread=20"]), "vector")


def test_the_output_says_what_500_scenes_would_cost_and_give(runs: Runs) -> None:
    done = runs[0, 0]
    assert not spread_remarks(done.manifest, done.results.sample), "what flat colors cost is not documented"
    render = done.manifest.query.render.model_copy(update={"preset": "reference"})
    search = done.manifest.query.search.model_copy(update={"bank": 1000})
    query = done.manifest.query.model_copy(update={"render": render, "search": search})
    sample = done.results.sample
    inclusion = np.full(1000, 0.05)
    wide = replace(sample, selection=Selection(np.arange(len(sample.draws)), inclusion))
    (words,) = spread_remarks(done.manifest.model_copy(update={"query": query}), wide)
    hits = np.array([float(done.manifest.target.is_hit(draw.state.log_probs)) for draw in sample.draws])
    now = estimate(wide.selection, hits, SAMPLED_LEVEL).interval.high
    then = estimate(
        Selection(wide.selection.members, np.full(1000, 0.525)), hits, SAMPLED_LEVEL
    ).interval.high
    assert f"as high as {100 * now:.1f}%" in words and f"end at {100 * then:.1f}%" in words
    assert "20 min on two cores" in words and words.endswith(
        f"{done.manifest.command} --set search.spread=500"
    )


def sampled(count: int, value: float, error: float, low: float, high: float, **parts: Any) -> SampledRate:
    return SampledRate(count, 560, bank=1000, estimate=Estimate(value, error, Interval(low, high)), **parts)


def test_each_part_of_the_sample_says_what_it_shows() -> None:
    likely, none = Part(3, 100), Part(0, 512)
    assert rate_words(sampled(3, 0.003, 0.58, 0.003, 0.0074, likely=likely, spread=none), "scenes") == (
        "at least 0.3% of random scenes (95%, from 100 likely ones); of 512 spread evenly none does, so it is at most "
        "0.74%"
    )
    assert rate_words(sampled(1, 0.001, 1.0, 2e-5, 0.0089, likely=Part(1, 96), spread=none), "scenes") == (
        "at most 0.89% of random scenes (1 of 96 likely ones, none of 512 spread evenly; 95%)"
    )
    assert rate_words(sampled(0, 0.0, np.inf, 0.0, 0.0074, likely=Part(0, 100), spread=none), "scenes") == (
        "less than 0.74% of random scenes (none of 100 likely ones or of 512 spread evenly; 95%)"
    )
    assert rate_words(sampled(3, 0.004, 0.6, 0.001, 0.02, likely=likely, spread=Part(1, 512)), "scenes") == (
        "0.1–2.0% of random scenes (95% CI; 3 hits among 560 checked of 1,000, weighted)"
    )
    assert rate_words(sampled(9, 0.0047, 0.3, 0.0019, 0.0096, likely=likely, spread=none), "scenes") == (
        "0.47% of random scenes (9 hits among 560 checked of 1,000, weighted; 95% CI 0.19–0.96%)"
    )
    assert rate_words(
        sampled(9, 0.0047, 0.3, 0.0019, 0.0096, likely=likely, spread=none), "scenes", is_short=True
    ) == ("0.47% of random scenes (95% CI 0.19–0.96%)")
    assert rate_words(Proportion(7, 1500), "digits") == (
        "0.47% of random digits (7 of 1,500; 95% CI 0.19–0.96%)"
    )
    assert rate_words(Proportion(0, 100), "scenes") == "less than 3.6% of random scenes (none of 100; 95%)"
    assert rate_words(Proportion(2, 1000), "scenes") == "0.024–0.72% of random scenes (95% CI; 2 of 1,000)"
