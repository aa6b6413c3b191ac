"""The folder that the public generator (clevr-dataset-gen) writes is read as it lies, by every command that takes one.

Right: flat images/, one scene a file, and the files beside the folders are read; so are the scenes once collected.
"""

import json
from pathlib import Path

import pytest

from tests.running.command_line import trex_done
from tests.worlds.baseline_worlds import write_query
from tests.worlds.clevr_folders import COUNT, generated


@pytest.fixture(params=["output", "collected", "gathered"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    place = generated(tmp_path / request.param)
    if request.param == "output":
        return place
    for path in (place / "scenes").iterdir():
        path.unlink()
    if request.param == "collected":
        (place / "questions").mkdir()
        for kind in ("scenes", "questions"):
            (place / f"CLEVR_{kind}.json").rename(place / kind / f"CLEVR_{kind}.json")
    else:  # by its collect_scenes.py, which calls the split "misc" in the name alone
        (place / "CLEVR_scenes.json").rename(place / "CLEVR_misc_scenes.json")
    return place


def test_a_baseline_knows_the_truth_of_each_picture(folder: Path, tmp_path: Path) -> None:
    done = trex_done(
        "baseline", write_query(tmp_path), "--dataset", folder, "--out", tmp_path / "out", "--json"
    )
    found = json.loads(done.stdout)
    assert found["problems"] == []
    assert found["baselines"][0]["accuracy"]["of"] == found["baselines"][0]["accuracy"]["count"] == 2
    assert found["baselines"][0]["hits"]["count"] == 1  # the picture of two red things


def test_a_model_is_verified_on_its_questions(folder: Path) -> None:
    found = json.loads(trex_done("models", "verify", "fake", "--dataset", folder, "--json").stdout)
    shares = found["others"]["CLEVR_questions"]
    assert (shares["count"]["right"], shares["count"]["of"], shares["exist"]["of"]) == (2, 2, 2)
    assert found["skipped"] == 0 and found["notes"] == []


def test_an_answer_is_explained(folder: Path, tmp_path: Path) -> None:
    words = ["explain", "--dataset", folder, "--image", "CLEVR_new_000001", "--question", COUNT]
    done = trex_done(*words, "--model", "fake", "--preset", "fake", "--out", tmp_path / "out", "--json")
    found = json.loads(done.stdout)
    assert (found["official"]["truth"], found["official"]["answer"]) == ("2", "2")
