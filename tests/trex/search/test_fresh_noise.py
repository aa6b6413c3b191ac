"""How many noise draws decide whether a hit counts as found, and that a log cut anywhere decides the same.

The mean over several noise draws is what counts, and fresh ones are others than those.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.running.runs import draws, run
from trex.clevr_models.fake import ColorArea
from trex.finding.conclude import Outcome
from trex.inference.statistics.staying import PRIOR_DEVIATION
from trex.inference.targets import high_confidence, threshold
from trex.render import fake
from trex.render.fake import FakeRenderer
from trex.runs.record import CHAIN, FRESH, NOISE, PRIOR, Record, from_line
from trex.scenes.edits import removals
from trex.scenes.noise import fresh_draws, noise_draws
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.search import hits
from trex.search.hits import BATCH, Hits
from trex.worlds.latents import identity

ANSWERS = ("a", "b", "c")
TARGET = high_confidence(ANSWERS, "a")  # a hit has at least .9
MOST = 8
SCENES = [
    replace(ScenePrior(n_objects=(1, 1)).sample(np.random.default_rng(seed)), noise=seed)
    for seed in range(12)
]


def record(scene: Scene, confidence: float, phase: str = CHAIN) -> Record:
    log_probs = (math.log(confidence), *(math.log((1 - confidence) / 2),) * 2)
    return Record(phase, 0, 0, scene, True, 0.0, 0.0, 0.0, log_probs, (1,))


def empty(most: int = MOST) -> Hits:
    return Hits(TARGET, lambda a, b: bool(identity(a) != identity(b)), most, PRIOR_DEVIATION)


def searched(confidences: Sequence[Sequence[float]], most: int = MOST) -> tuple[Hits, list[Record]]:
    """The hits with these confidences in their noise draws, all hits of one round, and the log of it."""
    found = empty(most)
    log = [record(scene, 0.95) for scene, _ in zip(SCENES, confidences, strict=False)]
    known = {
        draw: record(draw, confidence[k], NOISE)
        for scene, confidence in zip(SCENES, confidences, strict=False)
        for k, draw in enumerate(fresh_draws(scene, most))
    }
    found.add(log)
    while due := found.due:
        rows = [known[z] for z in due]
        found.add(rows)
        log += rows
    return found, log


def test_a_clear_hit_takes_few_draws_and_an_unclear_one_takes_more() -> None:
    steady, gone, unsure = [0.99, 0.989] * 4, [0.2, 0.21] * 4, [0.93, 0.96] * 4
    found, _ = searched([steady, gone, unsure])
    made = {}
    for row in (*found.found, *found.fragile):
        draws = found.noise_draws(row)
        assert draws is not None
        made[row.scene.noise] = (draws.n, draws.stay)
    assert made[0] == (2 * BATCH, 2 * BATCH) and made[1] == (BATCH, 0) and made[2][0] > 2 * BATCH
    assert [row.scene for row in found.fragile] == [SCENES[1]]


@pytest.mark.parametrize(
    "draws",
    [
        pytest.param([1 - 1e-9, 0.85] * 3 + [1 - 1e-9] * 2, id="the mean stays, three of eight draws do not"),
        pytest.param(
            [0.905, 0.905, 0.905, 0.6] * 2, id="three quarters of the draws stay, the mean does not"
        ),
    ],
)
def test_the_mean_and_three_quarters_of_the_draws_have_to_stay(draws: list[float]) -> None:
    """Planted bugs: one of the two is not asked for."""
    is_mean, is_share = np.mean(draws) >= 0.9, np.mean(np.array(draws) >= 0.9) >= 0.75
    assert is_mean != is_share
    found, _ = searched([draws])
    assert len(found.fragile) == 1 and not found.found


def test_the_confidence_that_is_shown_is_that_of_draws_that_no_search_chose() -> None:
    """Planted bug: the picture that the search climbed to counted in the mean."""
    found, _ = searched([[0.97, 0.969] * 4])
    draws = found.noise_draws(found.found[0])
    assert draws is not None and draws.confidence == pytest.approx(0.9695)


def test_a_log_that_is_cut_anywhere_asks_for_the_same_draws_next() -> None:
    """Planted bug: the hit with the fewest draws came first, in the middle of a batch too."""
    rng = np.random.default_rng(5)
    tables = [np.clip(rng.normal(mean, 0.02, MOST), 0.01, 0.999) for mean in np.linspace(0.85, 0.99, 8)]
    live, log = searched([row.tolist() for row in tables])
    n = len(live.found) + len(live.fragile)
    assert n == 8 and live.found and live.fragile
    for cut in range(n, len(log)):
        again = empty()
        again.add(log[:cut])
        due = again.due
        assert due and [row.scene for row in log[cut : cut + len(due)]] == due
    whole = empty()
    whole.add(log)
    assert (whole.found, whole.fragile, whole.due) == (live.found, live.fragile, [])


def test_draws_of_a_hit_that_is_added_later_are_known() -> None:
    """A resumed search reads all noise draws before the hits of rounds that it has not reached."""
    live, log = searched([[0.99] * 8, [0.3, 0.29] * 4])
    late = empty()
    late.add([row for row in log if row.phase == NOISE])
    late.add([row for row in log if row.phase != NOISE])
    assert (late.found, late.fragile, late.pending) == (live.found, live.fragile, [])


def test_a_verdict_of_an_earlier_version_stays_what_it_was() -> None:
    """One record with the mean over all draws: two of them then."""
    found = empty(2)
    found.add([record(SCENES[0], 0.95), record(SCENES[0], 0.91, FRESH)])
    found.add([record(SCENES[1], 0.95), record(SCENES[1], 0.89, FRESH)])
    assert [row.scene for row in found.found] == [SCENES[0]]
    assert [row.scene for row in found.fragile] == [SCENES[1]]
    draws = found.noise_draws(found.found[0])
    assert draws is not None and (draws.n, draws.stay) == (2, None)
    assert draws.confidence == pytest.approx(0.91)


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_no_hit_gets_more_draws_than_the_query_allows(most: int) -> None:
    found, log = searched([[0.97, 0.97, 0.97, 0.84] * 2] * 3, most)
    assert sum(row.phase == NOISE for row in log) == 3 * most
    assert len(found.found) + len(found.fragile) == 3 and not found.due


def test_the_margin_of_a_threshold_is_not_capped() -> None:
    """Planted bug: as the statistic is capped, all draws of the level set lay as far inside as its edge."""
    target = threshold(ANSWERS, "a", delta=0.1)
    deep, edge, out = (np.log([p, (1 - p) / 2, (1 - p) / 2]) for p in (0.99, 0.9, 0.8))
    assert target.margin(deep) == pytest.approx(0.9) and target.margin(out) == pytest.approx(-1.0)
    assert target.margin(edge) == pytest.approx(0.0, abs=1e-9)
    for log_probs in (deep, out):
        assert (target.margin(log_probs) >= 0) == target.is_hit(log_probs)
        assert TARGET.margin(log_probs) == pytest.approx(target.margin(log_probs))


OVERRIDES = ["search.prior_scenes=60", "search.steps=0", "render.noise=3", "render.fresh=6",
             "target.kind=threshold", "target.threshold=0.5", "answer=0"]  # fmt: skip


@pytest.fixture
def grainy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise seed decides much of a picture's brightness."""
    monkeypatch.setattr(fake, "GRAIN", 0.3)


def records(done: Outcome, phase: str) -> list[Record]:
    lines = draws(done.folder).decode().splitlines()
    return [from_line(line) for line in lines if json.loads(line)["phase"] == phase]


def mean_probs(zs: Sequence[Scene]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The mean of the probabilities, each scene rendered and scored by itself."""
    pictures = [FakeRenderer().picture_of(z).pixels.astype(np.float32) / np.float32(255) for z in zs]
    found = np.mean([np.exp(ColorArea("red").log_probs(picture[None])[0]) for picture in pictures], axis=0)
    return np.asarray(found, np.float64)


@pytest.mark.usefixtures("grainy")
def test_a_draw_has_the_mean_probability_of_its_noise_draws(tmp_path: Path) -> None:
    prior = records(run(tmp_path, OVERRIDES), PRIOR)
    for record in prior[:12]:
        np.testing.assert_allclose(record.probs, mean_probs(noise_draws(record.scene, 3)), atol=1e-6)
    alone = [np.max(np.abs(mean_probs([record.scene]) - record.probs)) for record in prior[:12]]
    assert max(alone) > 0.01, "one draw would give the same: the noise is too small for this test"


@pytest.mark.usefixtures("grainy")
def test_a_hit_is_checked_under_draws_that_the_search_never_saw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: the check renders the picture of the search again, and nothing is ever fragile."""
    done = run(tmp_path, OVERRIDES)
    made = {record.scene: record for record in records(done, NOISE)}
    assert done.results.fragile and done.results.found
    for hit in (*done.results.found, *done.results.fragile):
        assert hit.noise and hit.scene
        draws = fresh_draws(hit.scene, hit.noise.n)
        for z in draws:
            np.testing.assert_allclose(made[z].probs, mean_probs(noise_draws(z, 3)), atol=1e-6)
            assert not {seen.noise for seen in noise_draws(hit.scene, 3)} & {
                other.noise for other in noise_draws(z, 3)
            }
        mean = np.mean([made[z].probs for z in draws], axis=0)
        assert hit.mean_confidence == pytest.approx(mean[hit.manifest.facts.labels.index("0")])
    monkeypatch.setattr(hits, "fresh_draws", lambda z, n, first=0: (z,) * n)
    assert not run(tmp_path, OVERRIDES, "planted").results.fragile


def test_without_an_object_a_scene_has_the_same_noise_draws(tmp_path: Path) -> None:
    """So that the difference is the object's, not the noise's."""
    scene = records(run(tmp_path, ["search.steps=0"]), PRIOR)[0].scene
    assert scene.noise
    for edit in removals(scene):
        z = edit.apply(scene)
        assert len(z.objects) == len(scene.objects) - 1
        assert [draw.noise for draw in noise_draws(z, 4)] == [draw.noise for draw in noise_draws(scene, 4)]
