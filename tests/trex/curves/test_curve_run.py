"""`trex curve` on whole runs of the fake world: made, made again, killed, refused, shown."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import trex as trex_api
from tests.running.command_line import refused, trex
from tests.running.runs import rendered_scenes, run, without_reports
from trex.curves.curve import Curve
from trex.curves.doses import SEED
from trex.curves.measure import misread_objects
from trex.curves.options import CurveOptions
from trex.curves.shown import ShownCurve
from trex.curves.stored import CODEC, read_curves
from trex.explain.traces import CODEC as CODEC_OF_TRACES
from trex.explain.traces import FILE, TracedDraw
from trex.foundation.errors import InputError, RunError
from trex.runs import folder as run_folder
from trex.runs.folder import open_run
from trex.scenes.misreading import Misreading
from trex.scenes.noise import seeded_draws
from trex.scenes.scene import scene_id
from trex.trials.lines import Lines

DISTANCE = ("--over", "distance", "--at", "0", "--at", "0.1", "--at", "0.4")
FIRST = ("--object", "0", "--object", "0")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with found scenes."""
    return run(tmp_path_factory.mktemp("searched"), ["search.stop_when_found=2"]).folder


@pytest.fixture(scope="module")
def made(searched: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of it with a curve of its two first hits."""
    path = copied(searched, tmp_path_factory.mktemp("made"))
    done = trex("curve", path, *DISTANCE, *FIRST)
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture(autouse=True)
def no_more_reports(made: Path) -> Iterator[None]:
    """The page of `made` is there; no other is looked at."""
    with without_reports():
        yield


def copied(path: Path, folder: Path) -> Path:
    return Path(shutil.copytree(path, folder / "run"))


def curves(path: Path) -> list[Curve]:
    with open_run(path, for_writing=False) as folder:
        return read_curves(folder)


def test_the_curve_is_of_the_hits_and_holds_what_the_model_said(made: Path) -> None:
    (curve,) = curves(made)
    hits = trex_api.open_run(made).hits
    assert [(scene.scene, scene.index) for scene in curve.scenes] == [(hit.scene, 0) for hit in hits[:2]]
    assert (curve.doses, curve.event, curve.draws, curve.preset) == ((0.0, 0.1, 0.4), "wrong", 1, "fake")
    for hit, scene in zip(hits, curve.scenes, strict=False):
        unchanged = scene.points[0]
        assert unchanged is not None
        assert (unchanged.confidence, unchanged.answer) == (hit.confidence, hit.answer)
        assert (unchanged.truth, bool(unchanged.share)) == (hit.truth, hit.is_wrong)


def test_the_same_call_renders_nothing_and_says_the_same(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (made / "curves" / "distance.json").read_bytes()
    scenes = rendered_scenes(monkeypatch)
    first, second = (trex("curve", made, *DISTANCE, *FIRST) for _ in range(2))
    assert (first.exit_code, first.stdout) == (0, second.stdout)
    assert (made / "curves" / "distance.json").read_bytes() == before
    assert scenes == []


def test_another_dose_renders_only_what_is_new(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copied(made, tmp_path)
    scenes = rendered_scenes(monkeypatch)
    assert trex("curve", path, *DISTANCE, "--at", "0.2", *FIRST).exit_code == 0
    assert len(scenes) == 2
    (curve,) = curves(path)
    assert curve.doses == (0.0, 0.1, 0.2, 0.4)


def test_a_stopped_curve_resumes_to_the_same_bytes(searched: Path, made: Path, tmp_path: Path) -> None:
    """Every batch that was rendered is kept; nothing is rendered twice."""
    path = copied(searched, tmp_path)
    several = (*DISTANCE, *FIRST, "--draws", "4")
    with pytest.MonkeyPatch.context() as patch:
        before = rendered_scenes(patch, most=12)
        stopped = trex("curve", path, *several)
        assert stopped.exit_code != 0
        assert "every render is kept, and the same command resumes" in stopped.output
        assert not (path / "curves" / "distance.json").exists()
    with pytest.MonkeyPatch.context() as patch:
        after = rendered_scenes(patch)
        assert trex("curve", path, *several).exit_code == 0
    assert before
    assert not {*before} & {*after}
    whole = copied(searched, tmp_path / "whole")
    assert trex("curve", whole, *several).exit_code == 0
    assert (whole / "curves" / "distance.json").read_bytes() == (
        path / "curves" / "distance.json"
    ).read_bytes()


def test_noise_draws_are_the_scenes_own_and_fresh_ones(searched: Path, tmp_path: Path) -> None:
    path = copied(searched, tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        scenes = rendered_scenes(patch)
        trex_api.curve(path, over="light", at=(0.2,), object=(0,), draws=3, progress=False)
    own = scenes[0]
    assert scenes == [own, *seeded_draws(own, 2, SEED)]


def test_python_gives_the_curve_and_takes_a_run(made: Path) -> None:
    found = trex_api.open_run(made)
    keywords = {"over": "distance", "at": (0, 0.1, 0.4), "object": (0, 0), "progress": False}
    first, second = trex_api.curve(found, **keywords), found.curve(**keywords)
    assert first == second == curves(made)[0]
    assert first.threshold == second.threshold


def test_a_run_is_opened_once_to_explain_it_or_to_make_a_curve(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: each was opened once more, to see whether its world is the user's own."""
    path, opened = copied(made, tmp_path), []
    lock = run_folder.lock_folder
    monkeypatch.setattr(
        run_folder, "lock_folder", lambda path, *more: opened.append(path) or lock(path, *more)
    )
    found = trex_api.open_run(path)
    found.curve(over="distance", at=(0, 0.1, 0.4), object=(0, 0), progress=False)
    assert opened == [path]
    found.explain(top=1, edits=False, flip_depth=0, nuisances=0, saliency=False, progress=False)
    assert opened == [path, path]


def test_a_notebook_shows_the_figure_and_the_numbers(made: Path) -> None:
    """Planted bug: without the page's style sheet the lines had no color."""
    options = {"over": "distance", "at": (0, 0.1, 0.4), "object": (0, 0), "progress": False}
    for curve in (*curves(made), trex_api.curve(made, **options)):
        assert isinstance(curve, ShownCurve)
        shown = curve._repr_html_()
        assert shown.startswith("<div") and "<svg viewBox" in shown and curve.headline in shown
        assert all(f"{dose:.2f}" in shown for dose in curve.doses) and "mean confidence" in shown
        assert {*re.findall(r"var\((--line-\d)\)", shown)} <= {*re.findall(r"(--line-\d):#", shown)}
        named = replace(curve, over="<script>alert(1)</script>", range=(0.0, 1.0))
        assert "<script" not in named._repr_html_() and "&lt;script&gt;alert(1)" in named._repr_html_()


def test_the_page_and_the_json_show_it(made: Path) -> None:
    page = (made / "report.html").read_text()
    assert "Turned up and down, all else equal" in page
    assert page.count('aria-label="The model') >= 1
    done = trex("curve", made, *DISTANCE, *FIRST, "--json")
    found = json.loads(done.stdout)
    assert found["says"][0] in page
    assert [row["dose"] for row in found["at"]] == [0.0, 0.1, 0.4]
    assert found["curve"] == json.loads((made / "curves" / "distance.json").read_text())


def test_a_run_without_curves_has_no_such_section(searched: Path) -> None:
    assert curves(searched) == []
    assert "Turned up and down" not in (searched / "report.html").read_text()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "no misread object of the hits of"),
        (("--over", "visibel"), "did you mean 'visible'"),
        (("--at", "1.5", "--object", "0"), "dose 1.5 of 'visible' is impossible; give from 0 to 1"),
        (("--object", "9"), "--object 9: the hit of"),
        (("--object", "-1"), "--object -1: the hit of"),
        (("--scenes", "1", *FIRST), "--object was given 2 times for 1 hit"),
        (("--family", "99", "--object", "0"), "--family 99: "),
        (("--at", "0.5", "--doses", "3", "--object", "0"), "--doses does not apply: --at names the doses"),
    ],
)
def test_what_cannot_be_is_refused_before_any_render(
    options: tuple[str, ...], words: str, searched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenes = rendered_scenes(monkeypatch)
    refused(trex("curve", searched, *options), words)
    assert scenes == []


def test_the_object_is_the_one_that_an_explanation_names(searched: Path, tmp_path: Path) -> None:
    path = copied(searched, tmp_path)
    run_ = trex_api.open_run(path)
    explained = run_.explain(top=2, edits=False, nuisances=0, saliency=False, progress=False)
    named = [(hit.scene, each.chief) for hit, each in zip(run_.hits, explained, strict=False)]
    known = [pair for pair in named if pair[1] is not None]
    if not known:
        with pytest.raises(InputError, match="no misread object"):
            run_.curve(over="light", at=(0,), progress=False)
        return
    curve = run_.curve(over="light", at=(0,), progress=False)
    assert [(scene.scene, scene.index) for scene in curve.scenes] == known


def test_the_object_is_the_one_that_a_trace_tells(searched: Path, tmp_path: Path) -> None:
    path = copied(searched, tmp_path)
    hits = [hit for hit in trex_api.open_run(path).hits if hit.record.picture]
    rows = [
        TracedDraw("hit", scene_id(hit.record.scene), (Misreading("shape", 2, "cube"),), (5.0,), 0, 200)
        for hit in hits
    ]
    with open_run(path, for_writing=True) as folder:
        with Lines(path / FILE, CODEC_OF_TRACES) as log:
            log.append(rows)
        found = misread_objects(folder, hits, CurveOptions())
    assert [(hit, subject.misread) for hit, subject in found] == [(hit, 2) for hit in hits]


@pytest.mark.parametrize("damage", ["points", "index", "over", "share", "text"])
def test_a_damaged_curve_is_named(damage: str, made: Path, tmp_path: Path) -> None:
    path = copied(made, tmp_path)
    file = path / "curves" / "distance.json"
    (curve,) = curves(path)
    scene = curve.scenes[0]
    stored = json.loads(file.read_text())
    if damage == "points":
        curve = replace(curve, scenes=(replace(scene, points=scene.points[:2]),))
    elif damage == "index":
        curve = replace(curve, scenes=(replace(scene, index=77),))
    elif damage == "over":
        curve = replace(curve, over="visible")
    stored = json.loads(CODEC.text(curve))
    if damage == "share":
        stored["scenes"][0]["points"][0]["share"] = 1.5
    file.write_text("{" if damage == "text" else json.dumps(stored))
    with pytest.raises(RunError, match=r"distance.json is damaged .*; delete it, then: trex curve"):
        curves(path)


def test_what_replaces_a_damaged_curve_of_a_family_names_the_family(made: Path, tmp_path: Path) -> None:
    """Planted bug: the command made a curve of all hits."""
    path = copied(made, tmp_path / "a run")
    (path / "curves" / "size-family-2.json").write_text("{")
    with pytest.raises(RunError) as refused:
        curves(path)
    assert str(refused.value).endswith(f"delete it, then: trex curve '{path}' --over size --family 2")
