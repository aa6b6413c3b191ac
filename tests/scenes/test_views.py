"""Other viewpoints of a scene: valid, drawn from the prior, and with `[render] views` determined by the scene alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import refused, trex
from tests.running.runs import rendered_scenes, run, write_query
from trex.scenes import views
from trex.scenes.noise import noise_draws
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Nuisances
from trex.scenes.validity import is_valid
from trex.scenes.views import MAX_TRIES, other_views, view_draws
from trex.scenes.vocabulary import CLEVR

PRIOR = ScenePrior(n_objects=(4, 4))
HIDING = (262, 593, 671)  # seeds of scenes in which an object is nearly hidden, and from some viewpoints is
SCENES = [PRIOR.sample(np.random.default_rng(seed)) for seed in HIDING]


def test_views_change_camera_and_lights_alone_and_are_valid() -> None:
    skipped = 0
    for scene in SCENES:
        found = other_views(np.random.default_rng(1), scene, 5, CLEVR)
        assert {replace(view, nuisances=scene.nuisances) for view in found.scenes} == {scene}
        assert len({view.nuisances for view in found.scenes} | {scene.nuisances}) == 6
        assert all(is_valid(view, CLEVR) for view in found.scenes)
        skipped += found.skipped
    assert skipped > 10, "few views of these scenes hide an object: they test nothing"


def test_the_draws_of_a_scene_follow_from_its_seed_and_begin_with_it() -> None:
    """Planted bugs: all views under one noise; the views of every scene from one stream."""
    scene = SCENES[0]
    drawn = view_draws(scene, 6, CLEVR)
    assert (
        drawn[0] == scene
        and drawn == view_draws(scene, 6, CLEVR)
        and drawn[:3] == view_draws(scene, 3, CLEVR)
    )
    assert len({view.noise for view in drawn}) == len({view.nuisances for view in drawn}) == 6
    assert {view.objects for view in drawn} == {scene.objects}
    other = view_draws(replace(scene, noise=scene.noise ^ 1), 6, CLEVR)
    assert not {view.nuisances for view in drawn[1:]} & {view.nuisances for view in other[1:]}
    assert not {view.noise for view in drawn[1:]} & {view.noise for view in noise_draws(scene, 20)}


def test_a_scene_that_no_other_view_shows_keeps_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a mean is over as many pictures as the query asks for."""
    monkeypatch.setattr(views, "is_valid", lambda scene, vocabulary: False)
    found = other_views(np.random.default_rng(1), SCENES[0], 2, CLEVR)
    assert found.scenes == [] and found.skipped == 2 * MAX_TRIES
    drawn = view_draws(SCENES[0], 4, CLEVR)
    assert {view.nuisances for view in drawn} == {SCENES[0].nuisances}
    assert len({view.noise for view in drawn}) == 4


def test_a_search_counts_and_scores_every_view_with_every_noise_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bugs: views alone were counted, or noise draws alone; each view had the noise draws of the first."""
    seen = rendered_scenes(monkeypatch)
    done = run(tmp_path, ["render.noise=2", "render.views=3", "search.steps=0", "search.prior_scenes=9"])
    assert done.results.renders == 6 * 9
    prior = [draw.z for draw in done.results.prior]
    vocabulary = ScenePrior(CLEVR.revoke("cube")).vocabulary
    wanted = {d for z in prior for view in view_draws(z, 3, vocabulary) for d in noise_draws(view, 2)}
    assert len(wanted) == 54 and wanted <= set(seen)
    assert {z.nuisances for z in wanted} - {z.nuisances for z in prior}
    assert "mean of 3 viewpoints × 2 noise draws" in str(done)


def test_a_world_without_scenes_refuses_views(tmp_path: Path) -> None:
    text = 'answer = "1"\n[generator]\nname = "mnist-vae"\n[model]\nname = "lenet"\n[render]\nviews = 3\n'
    refused(trex("check", write_query(tmp_path, text)), "[render] belongs to the generator 'clevr'")


def test_the_camera_is_drawn_as_the_prior_draws_it() -> None:
    assert Nuisances() not in {view.nuisances for view in view_draws(SCENES[1], 5, CLEVR)}
