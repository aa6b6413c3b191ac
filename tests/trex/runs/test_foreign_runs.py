"""A run folder or a queue of somebody else is read without its code, and its code runs only after --trust."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import Result

from tests.running.command_line import trex
from tests.running.runs import change_manifest, find, run, write_query
from tests.worlds.toy_disk import QUERY
from trex.query.schema import Query
from trex.runs.trust import named_code

SMALL = ["search.prior_scenes=40", "search.steps=6", "search.control=false"]
CODE = """
from pathlib import Path

Path({marker!r}).write_text("it was imported")
raise ValueError("and did what it likes")
"""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a world of one's own."""
    folder = tmp_path_factory.mktemp("disk")
    return find(write_query(folder, QUERY), SMALL, folder / "run").folder


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("scenes")).folder


@pytest.fixture
def marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Written by the modules that lie in the current folder, if anything imports them."""
    place = tmp_path / "here"
    place.mkdir()
    for name in ("world_of_another", "model_of_another"):
        (place / f"{name}.py").write_text(CODE.format(marker=str(tmp_path / "marker")))
    monkeypatch.chdir(place)
    return tmp_path / "marker"


def foreign(folder: Path, place: Path, old: str, new: str) -> Path:
    """A copy of a run whose run.json names something else."""
    shutil.copytree(folder, place)
    manifest = place / "run.json"
    text = manifest.read_text()
    assert old in text
    manifest.write_text(text.replace(old, new))
    change_manifest(place, lambda data: None)
    return place


def asked_for_trust(result: Result, *parts: str) -> None:
    assert result.exit_code == 2, result.output
    for part in ("--trust", *parts):
        assert part in result.stderr, result.stderr


def test_reading_a_run_never_imports_the_module_of_its_world(
    disk: Path, marker: Path, tmp_path: Path
) -> None:
    path = foreign(disk, tmp_path / "one", "tests.worlds.toy_disk:disk", "world_of_another:make")
    other = shutil.copytree(path, tmp_path / "other")
    for command in (
        ["report", path],
        ["report", path, "--format", "netcdf"],
        ["report", path, other, "--out", tmp_path / "both.html"],
    ):
        result = trex(*command)
        assert result.exit_code == 0, result.output
    page = (path / "report.html").read_text()
    assert "read without the code of world_of_another:make" in page
    assert "dots that world_of_another:make draws" in page or "dots that" in page
    assert trex("export", path).exit_code == 2  # a world without objects
    assert not marker.exists()


def test_a_report_without_the_code_finds_what_the_search_found(
    disk: Path, marker: Path, tmp_path: Path
) -> None:
    place = foreign(disk, tmp_path / "one", "tests.worlds.toy_disk:disk", "world_of_another:make")
    then = json.loads((disk / "findings.json").read_text())
    assert trex("report", place).exit_code == 0
    now = json.loads((place / "findings.json").read_text())
    assert [item["z"] for item in now["found"]] == [item["z"] for item in then["found"]]
    assert now["how_often"] == then["how_often"] and now["ending"] == then["ending"]
    assert not marker.exists()


def test_resume_asks_for_trust_before_it_imports_a_world_of_somebody_else(
    disk: Path, marker: Path, tmp_path: Path
) -> None:
    place = foreign(disk, tmp_path / "one", "tests.worlds.toy_disk:disk", "world_of_another:make")
    asked_for_trust(trex("resume", place), "world_of_another:make", str(place))
    assert not marker.exists()
    assert trex("resume", place, "--trust").exit_code == 2  # the module raises
    assert marker.exists()


MODELS = {
    "a module": ("model_of_another:factory", "runs the code"),
    "an answerer": ("ask:model_of_another:answer", "runs the code"),
    "an address": ("http://127.0.0.1:9/answers", "sends pictures"),
    "a file for ONNX": ("onnx:model.onnx", "loads the file"),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("command", ["resume", "explain", "report --confirm clevr"])
def test_what_needs_a_model_asks_for_trust_before_it_opens_one_of_somebody_else(
    command: str, name: str, scenes: Path, marker: Path, tmp_path: Path
) -> None:
    model, words = MODELS[name]
    place = foreign(scenes, tmp_path / "one", '"name": "fake"', f'"name": "{model}"')
    asked_for_trust(trex(*command.split(), place), model, words)
    assert trex("report", place).exit_code == 0
    assert not marker.exists()


def test_a_run_of_ones_own_needs_no_trust_until_it_is_copied(disk: Path, tmp_path: Path) -> None:
    assert trex("resume", disk).exit_code == 0
    copy = shutil.copytree(disk, tmp_path / "copy")
    asked_for_trust(trex("resume", copy), "tests.worlds.toy_disk:disk")
    assert trex("resume", copy, "--trust").exit_code == 0
    assert trex("resume", copy).exit_code == 0


def test_a_run_put_in_place_of_ones_own_needs_trust_if_it_names_other_code(
    disk: Path, marker: Path, tmp_path: Path
) -> None:
    place = shutil.copytree(disk, tmp_path / "mine")
    assert trex("resume", place, "--trust").exit_code == 0
    shutil.rmtree(place)
    foreign(disk, place, "tests.worlds.toy_disk:disk", "world_of_another:make")
    asked_for_trust(trex("resume", place), "world_of_another:make")
    assert not marker.exists()


@pytest.mark.parametrize("is_trusted", [False, True])
def test_work_asks_for_trust_of_a_queue_that_was_made_elsewhere(
    is_trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    query = write_query(tmp_path, QUERY)
    sets = [word for text in SMALL for word in ("--set", text)]
    assert trex("queue", "add", query, *sets, "--runs", tmp_path / "made").exit_code == 0
    shutil.move(tmp_path / "made", tmp_path / "got")
    words = [
        "queue",
        "run",
        "--until-empty",
        "--runs",
        tmp_path / "got",
        *(["--trust"] if is_trusted else []),
    ]
    trex(*words)
    listed = trex("queue", "list", "--runs", tmp_path / "got", "--json")
    (entry,) = json.loads(listed.stdout)
    assert entry["state"] == ("done" if is_trusted else "failed"), entry
    assert ("--trust" in entry["why"]) is not is_trusted


def test_work_needs_no_trust_for_what_was_queued_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    query = write_query(tmp_path, QUERY)
    sets = [word for text in SMALL for word in ("--set", text)]
    assert trex("queue", "add", query, *sets, "--runs", "runs").exit_code == 0
    assert trex("queue", "run", "--until-empty", "--runs", "runs").exit_code == 0
    (entry,) = json.loads(trex("queue", "list", "--runs", "runs", "--json").stdout)
    assert entry["state"] == "done", entry


@pytest.mark.parametrize("model", ["relation-network:evil", "evil:x", "ask:evil:x", "ask:evil"])
def test_what_would_be_imported_needs_trust(model: str) -> None:
    assert named_code(Query.model_validate({"model": {"name": model}})) == (
        f"runs the code of model {model!r}",
    )


@pytest.mark.parametrize(
    "model", ["shipped", "fake", "relation-network", "relation-network:ir", "iep:18k", "w.safetensors"]
)
@pytest.mark.parametrize("generator", ["clevr", "mnist-vae"])
def test_what_comes_with_the_program_needs_no_trust(model: str, generator: str) -> None:
    query = Query.model_validate({"model": {"name": model}, "generator": {"name": generator}})
    assert named_code(query) == ()
