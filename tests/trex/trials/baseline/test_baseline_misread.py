"""What a model misreads in a baseline's mistakes: a planted misreading is traced, told and kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.auditing.misreader import Misreader, showing
from tests.worlds.baseline_worlds import Folder, write_query
from tests.worlds.misreader import FAULTS, misreader
from trex.clevr_models.adapters.live import as_session_model, session_model_available
from trex.clevr_models.interface.answers import ANSWERS
from trex.clevr_models.interface.question import Question
from trex.datasets.examples import Example
from trex.foundation.progress import silent
from trex.scenes.clevr_format.scene_json import to_clevr
from trex.scenes.graph import facts_of
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.scenes.vocabulary import CLEVR
from trex.trials.baseline import misread as traced
from trex.trials.baseline.baseline import Baseline
from trex.trials.baseline.files import read_baselines
from trex.trials.baseline.page import misread_sentences
from trex.trials.baseline.run import make_baseline
from trex.trials.baseline.score import RenderedScenes
from trex.trials.options import BaselineOptions
from trex.worlds.registry import check
from trex.worlds.world import Plan, open_renderer

N = 80
TOLD = "The model reads a cylinder as a cube where it overlaps an object of its color in the picture"
QUERY = """
question = "How many cubes are there?"
answer = "1"
[scene]
objects = 5
revoke = ["cube", "gray", "brown", "cyan", "purple"]
[model]
name = "{model}"
[render]
preset = "fake"
"""


def baseline(folder: Path, model: object, **wanted: object) -> Baseline:
    """The baseline of a model of this session, in FOLDER/out."""
    live = as_session_model(model)
    query = write_query(folder, QUERY.format(model=live.name))
    options = BaselineOptions(**wanted)  # type: ignore[arg-type]
    with session_model_available(live):
        (done,) = make_baseline([query], [], options, folder / "out", silent).baselines
    return replace(done, query="")


class Made(NamedTuple):
    """A baseline of a model that reads a cylinder as a cube if it touches an object of its color, and its folder."""

    folder: Path
    model: Misreader
    found: Baseline

    def again(self, folder: Path) -> Baseline:
        """The baseline made anew in another folder, from the same pictures."""
        return baseline(folder, self.model, rendered=N, cache=self.folder / "cache")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder, model = tmp_path_factory.mktemp("baseline"), misreader(FAULTS["same-color neighbor"][0])
    with showing(model, folder / "banks"):
        return Made(folder, model, baseline(folder, model, rendered=N, cache=folder / "cache"))


def check_traced(found: Baseline) -> None:
    """Each true mistake, and nothing else, is traced to the planted misreading."""
    assert found.mistakes.count >= 4 and found.traced == found.mistakes.count and not found.untraced
    for row in found.seen:
        assert (row.misread is not None) is row.is_mistake
        if row.misread:
            assert (row.misread.misreading.kind, row.misread.misreading.value) == ("shape", "cube")
            assert row.misread.words.endswith("cylinder is read as a cube")


def test_each_mistake_is_traced(done: Made) -> None:
    check_traced(done.found)


def test_a_trace_of_right_hits_is_caught(done: Made) -> None:
    found = done.found
    some = next(row.misread for row in found.seen if row.misread)
    seen = tuple(replace(row, misread=some) for row in found.seen)
    with pytest.raises(AssertionError):
        check_traced(replace(found, seen=seen))


def check_told(found: Baseline) -> None:
    """One family holds all mistakes, and its sentence names the planted conditions and no other."""
    (family,) = found.families
    assert family.words == f"{TOLD}."
    assert set(family.pictures) == {row.name for row in found.seen if row.is_mistake}


def test_the_planted_condition_is_told(done: Made) -> None:
    check_told(done.found)


def test_conditions_that_are_held_against_no_other_scenes_are_caught(
    done: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without plain scenes there is nothing to stand out from: only the kind of misreading may be told."""
    monkeypatch.setattr(traced, "COHORT", 0)
    monkeypatch.setattr("trex.trials.baseline.score.COHORT", 0)
    found = done.again(tmp_path)
    check_traced(found)
    (family,) = found.families
    assert (family.words, family.evidence) == ("The model reads a cylinder as a cube.", "")
    with pytest.raises(AssertionError):
        check_told(found)


def test_page_terminal_and_json_say_it(done: Made) -> None:
    folder, found = done.folder, done.found
    n = found.mistakes.count
    (sentence,) = misread_sentences(found)
    assert sentence.startswith(f"{TOLD}: {n} of {n} true mistakes. ")
    page = (folder / "out" / "baseline.html").read_text()
    assert sentence in page and page.count("cylinder is read as a cube.") == n
    (document,) = json.loads((folder / "out" / "baseline.json").read_text())["baselines"]
    assert f"<h1>The model makes the mistake in {document['mistakes']['count']} of " in page
    assert document["families"][0]["words"] == f"{TOLD}." and document["traced"] == n
    (stored,) = read_baselines(folder / "out")
    assert replace(stored, query="") == found


def test_made_again_it_is_the_same_bytes(done: Made) -> None:
    """After a kill the pictures are there, and everything that is asked is asked again."""
    folder = done.folder
    before = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    done.again(folder)
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == before


def test_a_baseline_of_an_earlier_version_opens(done: Made, tmp_path: Path) -> None:
    folder, found = done.folder, done.found
    document = json.loads((folder / "out" / "baseline.json").read_text())
    for item in document["baselines"]:
        del item["families"], item["traced"], item["untraced"]
        for row in item["seen"]:
            del row["misread"]
    (tmp_path / "baseline.json").write_text(json.dumps(document))
    (old,) = read_baselines(tmp_path)
    assert old.mistakes == found.mistakes and misread_sentences(old) == ()


# --- pictures of others: the camera is fitted to where their file says that objects are seen


def data_set(folder: Path, model: Misreader, *, has_pixels: bool) -> Path:
    """The pictures of N scenes, with records like CLEVR's own: without camera, lights and noise."""
    data = Folder(folder / "data")
    plan = check(write_query(folder, QUERY.format(model="fake"), "fake.toml"))
    scenes = RenderedScenes(plan.scenes, plan.query.render, N, 0, "", folder / "c")
    renderer = open_renderer(scenes.render, CLEVR)
    for number, scene in enumerate(scenes.scenes()):
        (picture,) = renderer.render([scene])
        model.shown(scene, picture)
        name = f"CLEVR_val_{number:06d}.png"
        data.picture("val", name, picture.pixels)
        record = to_clevr(scene, name, number, "val")
        del record["nuisances"], record["noise"]
        for item in cast(list[dict[str, object]], record["objects"]):
            if not has_pixels:
                del item["pixel_coords"]
        data.records.setdefault("val", []).append(record)
    data.write()
    return data.path


@pytest.mark.slow
def test_pictures_of_others_are_traced_with_the_camera_that_took_them(tmp_path: Path) -> None:
    model = misreader(FAULTS["same-color neighbor"][0])
    found = baseline(tmp_path, model, dataset=data_set(tmp_path, model, has_pixels=True))
    check_traced(found)
    check_told(found)


def test_without_a_known_camera_no_condition_is_told(tmp_path: Path) -> None:
    """Planted bug: the camera at its base position says what overlaps in a picture that another camera took."""
    model = misreader(FAULTS["same-color neighbor"][0])
    found = baseline(tmp_path, model, dataset=data_set(tmp_path, model, has_pixels=False))
    check_traced(found)
    assert [family.words for family in found.families] == ["The model reads a cylinder as a cube."]


def photographs() -> Iterator[tuple[Scene, Example]]:
    """Scenes with a camera, and examples whose scene lacks it; pixels are rounded as in CLEVR's files."""
    for k in range(5):
        scene = ScenePrior(CLEVR, (5, 5)).sample(np.random.default_rng(k))
        items = cast(list[dict[str, object]], to_clevr(scene)["objects"])
        both = np.array([[item[key] for item in items] for key in ("3d_coords", "pixel_coords")])
        bare = replace(scene, nuisances=replace(scene.nuisances, camera=(0.0, 0.0, 0.0)))
        yield scene, Example("a", "", np.zeros((320, 480, 3), np.uint8), bare, coordinates=both)


def test_the_fitted_camera_shows_the_same_scene() -> None:
    errors = {True: 0.0, False: 0.0}  # of the visible shares, with the fitted camera and the base one
    for scene, example in photographs():
        known = traced.photographed(example)
        assert known.is_camera_known and example.scene is not None
        shares = np.array(facts_of(scene, CLEVR).shares)
        for is_fitted, seen in ((True, known.scene), (False, example.scene)):
            error = float(np.abs(np.array(facts_of(seen, CLEVR).shares) - shares).max())
            errors[is_fitted] = max(errors[is_fitted], error)
        empty = replace(example, coordinates=np.zeros((2, 0, 3)))
        assert not traced.photographed(empty).is_camera_known
    assert errors[True] < 0.03 < errors[False]


# --- what cannot be traced


class AlwaysOne:
    """A model that answers 1 to everything."""

    def __call__(self, pictures: NDArray[np.float32], question: Question) -> NDArray[np.float64]:
        rows = np.full((len(pictures), len(ANSWERS)), 0.001)
        rows[:, ANSWERS.index("1")] = 1.0
        return rows / rows.sum(axis=1, keepdims=True)


def test_a_model_with_one_answer_is_not_said_to_misread_anything(tmp_path: Path) -> None:
    found = baseline(tmp_path, AlwaysOne(), rendered=3, cache=tmp_path / "cache")
    assert found.mistakes.count == 3 and not found.families and not found.traced
    assert misread_sentences(found) == (
        "What the model misreads in 3 of 3 true mistakes is not known, as the model gives every question the same "
        "answer.",
    )


def test_only_the_first_mistakes_are_traced(
    done: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traced, "MOST", 2)
    found = done.again(tmp_path)
    assert [row.misread is not None for row in found.seen if row.is_mistake][:3] == [True, True, False]
    assert misread_sentences(found)[-1] == f"The first 2 of {found.mistakes.count} true mistakes were traced."


@pytest.mark.parametrize("name", ["openai:gpt-4o", "http://localhost:8000/ask"])
def test_a_model_behind_an_address_is_not_asked(name: str, tmp_path: Path) -> None:
    plan = check(write_query(tmp_path, QUERY.format(model="fake")))
    scene = ScenePrior(CLEVR, (5, 5)).sample(np.random.default_rng(0))
    assert traced._why_not(plan, scene) == ""
    query = SimpleNamespace(model=SimpleNamespace(name=name))
    assert traced._why_not(cast(Plan, SimpleNamespace(asks=plan.asks, query=query)), scene) == traced.COSTS
