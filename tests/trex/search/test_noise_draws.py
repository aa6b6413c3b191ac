"""Noise draws in a search: the mean over several is what counts, and fresh ones are others than those."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.running.runs import draws, run
from trex.clevr_models.fake import ColorArea
from trex.finding.conclude import Outcome
from trex.render import fake
from trex.render.fake import FakeRenderer
from trex.runs.record import NOISE, PRIOR, Record, from_line
from trex.scenes.edits import removals
from trex.scenes.noise import fresh_draws, noise_draws
from trex.scenes.scene import Scene
from trex.search import hits

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
