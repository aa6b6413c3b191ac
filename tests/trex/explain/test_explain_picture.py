"""A model's answer on a picture of a data set, explained by rendering its scene again: on the fake world."""

from __future__ import annotations

import json
import re
from dataclasses import MISSING, fields, replace
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import trex
from tests.running.runs import run
from trex.explain.explain_picture import (
    PictureExplained,
    PictureQuestion,
    explain_picture,
)
from trex.export.export import export
from trex.foundation.errors import InputError
from trex.inference.attribution.blame import Blame
from trex.scenes.clevr_format.scene_json import read_scenes
from trex.trials.hits import largest_change

QUESTION = "How many red things are there?"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Found scenes of a run in CLEVR's own layout."""
    folder = tmp_path_factory.mktemp("pictures")
    done = run(folder, ["search.steps=20", "scene.revoke=[]"])
    return export(done.folder, "clevr", folder / "data", False).out


def wanted(data: Path, image: str = "CLEVR_found_000000") -> PictureQuestion:
    return PictureQuestion(data, image, QUESTION, "fake", "fake")


@pytest.fixture(scope="module")
def made(data: Path, tmp_path_factory: pytest.TempPathFactory) -> PictureExplained:
    return explain_picture(wanted(data), tmp_path_factory.mktemp("made") / "out")


def test_every_object_is_left_out_and_the_control_is_exact(made: PictureExplained, data: Path) -> None:
    scene = next(read_scenes(data / "scenes" / "CLEVR_found_scenes.json")).scene
    assert len(made.removals) == len(scene.objects)
    assert made.control_difference == 0.0
    assert made.camera_px < 0.5
    assert made.official.answer == "2"
    for removal, item in zip(made.removals, scene.objects, strict=True):
        number = sum(other.color == "red" for other in scene.objects) - (item.color == "red")
        assert removal.truth == str(number)
        assert item.shape in removal.words


def test_a_flickering_renderer_fails_the_control(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trex.render import fake

    plain = fake.brightness
    calls = iter(range(10_000))
    monkeypatch.setattr(fake, "brightness", lambda nuisances: plain(nuisances) * (1 + 0.001 * next(calls)))
    explained = explain_picture(wanted(data), tmp_path / "out")
    assert explained.control_difference > 0
    assert any("NOT the same" in sentence for sentence in explained.sentences())


def test_the_page_needs_no_network_and_the_command_prints_the_outcome(data: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    words = ["explain", "--dataset", data, "--image", "CLEVR_found_000000.png", "--question", QUESTION]
    words += ["--model", "fake", "--preset", "fake", "--out", place]
    done = trex(*words)
    assert done.exit_code == 0, done.output
    assert f"report: {place / 'explanation.html'}" in done.output
    removals = re.findall(
        r"^ *without .*", done.output, re.M
    )  # planted bug: −0.630 here, points in the sentence
    assert removals and all(re.search(r"[+−]\d+\.\d.points ", line) for line in removals)
    html = (place / "explanation.html").read_text(encoding="utf-8")
    assert (
        "default-src 'none'" in html
        and "<script" not in html
        and "http:" not in html
        and "https:" not in html
    )
    stored = json.loads((place / "explanation.json").read_text())
    assert len(stored["effects"]) == len(stored["removals"])
    assert trex(*words).exit_code == 0  # again, from the cache


BAD = [
    ({"image": "CLEVR_found_999999"}, "no picture"),
    ({"question": "How many zebras are there?"}, "zebras"),
    ({"preset": "huge"}, "huge"),
    ({"model": "nobody"}, "nobody"),
]


@pytest.mark.parametrize(("change", "words"), BAD, ids=[words for _, words in BAD])
def test_bad_input_is_refused_before_anything_is_written(
    change: dict[str, str], words: str, data: Path, tmp_path: Path
) -> None:
    fields = {"image": "CLEVR_found_000000", "question": QUESTION, "model": "fake", "preset": "fake"}
    with pytest.raises(InputError, match=words):
        explain_picture(PictureQuestion(data, **(fields | change)), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_things_in_it_is_left_alone(data: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="not an empty folder"):
        explain_picture(wanted(data), tmp_path)


def test_a_finished_explanation_is_not_overwritten_by_another(data: Path, tmp_path: Path) -> None:
    """Planted bug: the explanation of another picture took its place."""
    explain_picture(wanted(data), tmp_path / "out")
    before = (tmp_path / "out" / "explanation.json").read_bytes()
    for change in (
        {"image": "CLEVR_found_000001"}, {"question": "How many cubes are there?"}, {"preset": "fake-small"},
    ):  # fmt: skip
        with pytest.raises(
            InputError, match=r"out already holds an explanation of .*another folder with --out"
        ):
            explain_picture(replace(wanted(data), **change), tmp_path / "out")
    assert (tmp_path / "out" / "explanation.json").read_bytes() == before
    assert explain_picture(wanted(data), tmp_path / "out").picture.startswith("CLEVR_found_000000")


def test_run_and_picture_are_not_mixed() -> None:
    done = trex("explain")
    assert done.exit_code == 2
    assert "give a RUN" in done.output + (done.stderr or "")


def test_a_control_is_measured_or_there_is_none() -> None:
    """No default passes: neither the control nor what is told of it can be made without both measurements."""
    assert all(f.default is MISSING and f.default_factory is MISSING for f in fields(PictureExplained))
    same = np.log(np.array([0.25, 0.75]))
    assert largest_change(same, same.copy()) == 0.0
    assert largest_change(same, np.log(np.array([0.5, 0.5]))) == pytest.approx(0.25)


def test_nothing_is_responsible_for_an_answer_that_our_render_does_not_show(made: PictureExplained) -> None:
    """Planted bug: leaving out an object that brings the answer back was told as what is responsible for it."""
    official = replace(made.official, answer="yes", probability=0.9)
    again = replace(made.again, answer="no", probability=0.3)
    back = replace(made.removals[0], answer="yes", probability=0.9)
    others = tuple(replace(removal, answer="no", probability=0.3) for removal in made.removals[1:])
    shown = replace(made, official=official, again=again, removals=(back, *others))
    assert shown.blame.parts == () and shown.strongest is None
    assert not any("is responsible" in sentence for sentence in shown.sentences())
    assert "does not show the answer" in shown.sentences()[-1]
    away = replace(back, answer="no", probability=0.3)
    kept = tuple(replace(removal, answer="yes", probability=0.9) for removal in made.removals[1:])
    same = replace(shown, again=replace(again, answer="yes", probability=0.9), removals=(away, *kept))
    assert same.blame == Blame("none") and "is still wrong" in same.sentences()[-1]
    right = replace(away, truth="no")
    explained = replace(same, removals=(right, *kept))
    assert explained.blame == Blame("alone", (0,)) and "is responsible" in explained.sentences()[-1]
