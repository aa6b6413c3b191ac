"""How far a finding holds: what is rendered, what is kept, and that the three shares and their intervals are right."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from tests.running.runs import rendered_scenes, run
from trex.explain.options import ExplainOptions
from trex.finding.conclude import Outcome, renew_report
from trex.foundation.errors import RunError
from trex.foundation.progress import silent
from trex.foundation.words import percent
from trex.inference.statistics.proportion import Proportion, clopper_pearson
from trex.report.first_screen import _averaged
from trex.runs.folder import RunFolder, open_run
from trex.runs.record import NOISE as NOISE_PHASE
from trex.scenes.noise import noise_draws
from trex.scenes.scene import Scene
from trex.scenes.validity import is_valid
from trex.search.hit import Hit
from trex.search.results import Results
from trex.trials import holds
from trex.trials.holds import (
    CODEC,
    FILE,
    NOISE,
    VIEWS,
    Again,
    HeldScene,
    HeldScenes,
    Holds,
    holds_of,
    measure_holds,
    read_held,
)

FOUND = ["answer=1", "search.prior_scenes=40", "search.steps=0", "render.fresh=4"]


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    done = run(tmp_path_factory.mktemp("found"), FOUND)
    assert len(done.results.found) >= 4
    return done


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[Scene]:
    """Every scene that is rendered from now on."""
    return rendered_scenes(monkeypatch)


@pytest.fixture
def folder(searched: Outcome) -> Iterator[RunFolder]:
    with open_run(searched.folder, for_writing=True) as opened:
        (opened.path / FILE).unlink(missing_ok=True)
        yield opened


def test_every_picture_is_one_that_the_search_has_not_seen(
    searched: Outcome, folder: RunFolder, rendered: list[Scene]
) -> None:
    """Planted bugs: the camera of the search again; its noise again, or that of the draws that decided."""
    hits = searched.results.found[:3]
    assert measure_holds(folder, hits, silent)
    with open_run(searched.folder, for_writing=False) as opened:
        from trex.runs.draw_log import run_draws

        searched_scenes = {record.scene for record in run_draws(opened)}
        assert any(record.phase == NOISE_PHASE for record in run_draws(opened))
    vocabulary = searched.manifest.world.plan(searched.manifest.query, Path()).vocabulary
    for hit in hits:
        scene = hit.record.scene
        mine = [z for z in rendered if z.objects == scene.objects]
        views = [z for z in mine if z.nuisances != scene.nuisances]
        assert (len(views), len(mine) - len(views)) == (VIEWS, NOISE)
        assert not set(mine) & searched_scenes
        assert len({z.noise for z in mine}) == VIEWS + NOISE
        assert not {z.noise for z in mine} & {z.noise for z in noise_draws(scene, 50)}
        assert len({z.nuisances for z in views}) == VIEWS and all(is_valid(z, vocabulary) for z in views)


def test_a_measurement_that_was_cut_goes_on_to_the_same_bytes(
    searched: Outcome, folder: RunFolder, rendered: list[Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    hits = searched.results.found[:4]
    measure_holds(folder, hits, silent)
    whole, n = (folder.path / FILE).read_bytes(), len(rendered)
    (folder.path / FILE).unlink()
    real = holds._measured
    left = [2]

    def cut(*arguments: object) -> HeldScene:
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(holds, "_measured", cut)
    with pytest.raises(KeyboardInterrupt):
        measure_holds(folder, hits, silent)
    monkeypatch.setattr(holds, "_measured", real)
    held = read_held(folder)
    assert held is not None and len(held.scenes) == 2
    assert measure_holds(folder, hits, silent)
    assert (folder.path / FILE).read_bytes() == whole
    assert not measure_holds(folder, hits, silent), "nothing is missing any more"
    assert len(rendered) <= 2 * n + 4, "what was measured was rendered again"


def test_the_shares_are_those_of_the_hits_asked_for_and_whole_runs_say_them(
    searched: Outcome, folder: RunFolder
) -> None:
    """A family is a part of the hits."""
    hits = searched.results.found[:4]
    measure_holds(folder, hits, silent)
    every, two = holds_of(folder, of(hits)), holds_of(folder, of(hits), 2)
    held = read_held(folder)
    assert held is not None and every.noise and every.views_in_set and two.views_in_set
    assert (every.noise.of, every.views_in_set.of, two.views_in_set.of) == (4 * NOISE, 4 * VIEWS, 2 * VIEWS)
    assert every.views_in_set.count == sum(view.is_hit for scene in held.scenes for view in scene.views)
    for hit, scene in zip(hits, held.scenes, strict=True):
        assert scene.picture == hit.record.picture
        wrong = hit.is_wrong
        assert scene.was_wrong is wrong and all(view.is_wrong is not None for view in scene.views)
    assert holds_of(folder, of(())) == Holds() and Holds().sentence() == ""
    folder.__exit__(None, None, None)
    again = renew_report(searched.folder)
    with open_run(searched.folder, for_writing=False) as again_open:
        known = holds_of(again_open, again.results)
    assert again.first.how_far == known.sentence() != ""
    assert known.sentence() in str(again) and known.sentence() in again.report.read_text()
    assert json.loads((searched.folder / "findings.json").read_text())["holds"] == known.document()


def test_how_sure_the_model_is_told_by_noise_that_decided_nothing(
    searched: Outcome, folder: RunFolder
) -> None:
    """Planted: the mean of the draws that decided, which is too high, as they were asked until it was high enough."""
    hits = searched.results.found[:3]
    measure_holds(folder, hits, silent)
    held = read_held(folder)
    known = holds_of(folder, of(hits))
    assert held is not None and len(known.sure) == 3
    for hit, scene in zip(hits, held.scenes, strict=True):
        later = np.mean([again.confidence for again in scene.noise])
        assert known.sure[hit.record.picture] == pytest.approx(later) != hit.mean_confidence
    values = sorted(known.sure.values())
    words = f"{percent(values[0])} to {percent(values[-1])} sure of its answer"
    assert f"{words}, averaged over new render noise" in _averaged(hits, known)
    more = _averaged(searched.results.found[:5], known)
    assert more == f"{words} in the 3 most confident, averaged over new render noise"
    assert "noise" not in _averaged(hits, Holds())


def of(hits: Sequence[Hit], starts: Sequence[int] | None = None) -> Results:
    """Results with these hits, each of its own start if none are given."""
    numbered = range(len(hits)) if starts is None else starts
    by_picture = {hit.record.picture: start for hit, start in zip(hits, numbered, strict=True)}
    return cast(Results, SimpleNamespace(found=tuple(hits), starts=by_picture))


def made(rows: Sequence[Sequence[bool]], *, was_wrong: bool | None = True) -> HeldScenes:
    """Scenes with these hits in their views; a view is wrong if it hits."""
    scenes = [
        HeldScene(f"{k:032x}", was_wrong, (), tuple(Again(hit, 0.5, hit) for hit in row), 0)
        for k, row in enumerate(rows)
    ]
    return HeldScenes("r", "m", tuple(scenes))


def shares(
    folder: RunFolder, hits: Sequence[Hit], held: HeldScenes, starts: Sequence[int] | None = None
) -> Holds:
    (folder.path / FILE).write_text(CODEC.text(held))
    pictures = [scene.picture for scene in held.scenes]
    mine = [replace(hits[0], record=replace(hits[0].record, picture=name)) for name in pictures]
    return holds_of(folder, of(mine, starts))


def test_pictures_of_a_scene_are_alike(searched: Outcome, folder: RunFolder) -> None:
    """Planted bug: an interval that takes 80 pictures of 8 scenes as independent misses the truth too often."""
    rng = np.random.default_rng(4)
    inside, plain, repeats, rate = 0, 0, 120, 0.5
    for _ in range(repeats):
        chance = rng.beta(0.5, 0.5, 8)  # of each scene: most hold from nearly anywhere, or from nowhere
        found = shares(folder, searched.results.found, made((rng.random((8, 10)) < chance[:, None]).tolist()))
        assert found.views_in_set is not None
        low, high = found.views_in_set.interval
        inside += low <= rate <= high
        low, high = clopper_pearson(found.views_in_set.count, 80)
        plain += low <= rate <= high
    assert inside >= 0.9 * repeats and plain < 0.75 * repeats


def test_scenes_of_one_start_are_alike(searched: Outcome, folder: RunFolder) -> None:
    """Eight scenes of three starts. Planted bug: an interval that counts scenes misses the truth too often."""
    rng, starts, repeats, rate = np.random.default_rng(6), [0] * 6 + [1, 2], 120, 0.5
    inside = alone = 0
    for _ in range(repeats):
        chance = rng.beta(0.5, 0.5, 3)[starts]
        held = made((rng.random((8, 10)) < chance[:, None]).tolist())
        for counted, each in ((True, starts), (False, None)):
            share = shares(folder, searched.results.found, held, each).views_in_set
            assert share is not None
            inside += counted and share.interval.low <= rate <= share.interval.high
            alone += not counted and share.interval.low <= rate <= share.interval.high
    assert inside >= 0.95 * repeats and alone < 0.85 * repeats


def test_without_a_truth_the_level_set_alone_is_told(searched: Outcome, folder: RunFolder) -> None:
    held = made([[True, False]] * 3, was_wrong=None)
    found = shares(folder, searched.results.found, held)
    assert found.views_wrong is None and found.views_in_set is not None
    assert not any("wrong" in sentence for sentence in found.sentences())
    mixed = replace(held, scenes=(replace(held.scenes[0], was_wrong=True), *held.scenes[1:]))
    found = shares(folder, searched.results.found, mixed)
    assert found.views_wrong is not None and found.views_wrong.of == 2


def test_it_is_said_in_one_line_and_with_intervals() -> None:
    found = Holds(Proportion(31, 32), Proportion(7, 8), Proportion(44, 80), Proportion(19, 80))
    assert (
        found.sentence() == "Stays in 31 of 32 pictures with new render noise, 7 of 8 at reference quality, "
        "19 of 80 from other viewpoints."
    )
    assert len(found.sentences()) == 4 and "55% (95% CI 43.5–66.2%)" in found.sentences()[3]
    assert found.document()["views_wrong"] == {
        "count": 44,
        "of": 80,
        "interval_95": [*Proportion(44, 80).interval],
    }
    noise = Holds(noise=Proportion(4, 4))
    assert str(noise) == noise.sentence() == "Stays in 4 of 4 pictures with new render noise."
    assert (repr(noise), repr(Holds())) == (f"<Holds: {noise}>", "<Holds: Not measured.>")


def test_a_measurement_with_another_renderer_is_not_gone_on_with(
    searched: Outcome, folder: RunFolder
) -> None:
    (folder.path / FILE).write_text(CODEC.text(HeldScenes("another", folder.manifest.made.model)))
    with pytest.raises(RunError, match=r"was made with renderer another.*; delete it, then: trex resume "):
        measure_holds(folder, searched.results.found[:1], silent)
    (folder.path / FILE).write_text("{}")
    with pytest.raises(RunError, match="is damaged"):
        read_held(folder)


def test_views_of_explanations_come_from_the_same_generator() -> None:
    from trex.explain import explain_scene

    assert explain_scene.other_views is holds.other_views and ExplainOptions().nuisances >= 0
