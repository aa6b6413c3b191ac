"""The command line as it is typed, and what the shell is offered to complete it."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.running.command_line import refused, trex
from tests.running.runs import leave_draws, run, write_query
from trex.commands.shell.app import app
from trex.commands.shell.errors import exit_code
from trex.foundation.errors import InputError, ModelError, RenderError, RunError


def test_find_says_where_it_writes_and_ends_with_the_report(tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = trex("find", write_query(tmp_path), "--out", out, "--set", "search.steps=4")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[0] == f"writing to {out}"
    assert "prior scenes 12/12" in result.stderr
    assert "renders/s" in result.stderr
    assert result.stdout.splitlines()[-1] == f"report: {out / 'report.html'}"
    again = trex("report", out)
    assert again.stdout.splitlines()[-1] == result.stdout.splitlines()[-1]
    assert again.stdout.splitlines()[0] == result.stdout.splitlines()[0]
    elsewhere = trex("report", out, "--out", tmp_path / "page.html")
    assert elsewhere.stdout.splitlines()[-1] == f"report: {tmp_path / 'page.html'}"
    assert (tmp_path / "page.html").read_bytes() == (out / "report.html").read_bytes()
    netcdf = trex("report", out, "--format", "netcdf")
    assert netcdf.stdout == f"netcdf: {out / 'draws.nc'}\n"
    assert trex("report", out, "--format", "pdf").exit_code == 2


def test_find_for_machines(tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = trex("find", write_query(tmp_path), "--out", out, "--json")
    data = json.loads(result.stdout)
    assert data["run"] == str(out)
    assert data["ending"] in ("FOUND", "CONVERGED", "NOT FOUND")
    assert result.stdout.count("\n") == 1
    assert json.loads(trex("resume", out, "--json").stdout) == data


def test_check_for_machines(tmp_path: Path) -> None:
    data = json.loads(trex("check", write_query(tmp_path), "--json", "--set", "search.steps=2").stdout)
    assert (data["renders_at_most"], data["cheap_at_most"]) == (12 + 3 * 2, 0)
    assert data["control_at_most"] == 2 * 3 * 2
    assert data["query"]["answer"] == ["2"]


def test_a_query_may_be_given_by_its_keys_alone(tmp_path: Path) -> None:
    refused(trex("find"), "no query is given; give a TOML file")
    keys = [
        "question=How many cubes are there?",
        "answer=1",
        "render.preset=fake",
        "search.prior_scenes=4",
        "search.steps=0",
    ]
    result = trex(
        "find",
        "--model",
        "fake",
        *(word for key in keys for word in ("--set", key)),
        "--out",
        tmp_path / "run",
    )
    assert result.exit_code == 0, result.stderr
    assert trex("check", tmp_path / "run" / "query.toml").exit_code == 0


def test_a_model_on_the_command_line(tmp_path: Path) -> None:
    result = trex("check", write_query(tmp_path), "--model", "nobody")
    assert result.exit_code == 2
    assert "model 'nobody'" in result.stderr


def test_without_a_place_it_goes_below_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = trex("find", write_query(tmp_path), "--set", "search.steps=0")
    place = Path(result.stdout.splitlines()[-1].removeprefix("report: ")).parent
    assert place.parent == Path("runs")
    assert place.name.startswith("query-")
    assert (place / "query.toml").read_text() == (tmp_path / "query.toml").read_text()


def test_a_report_of_a_run_without_draws(tmp_path: Path) -> None:
    out = tmp_path / "run"
    trex("find", write_query(tmp_path), "--out", out, "--set", "search.steps=0")
    leave_draws(out, b"")
    result = trex("report", out)
    assert result.exit_code == 2
    assert "no draws yet" in result.stderr


def test_exit_codes() -> None:
    assert [exit_code(kind("")) for kind in (InputError, ModelError, RunError, RenderError)] == [2, 2, 2, 1]


def test_our_own_mistakes_are_not_called_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trex.render.fake import FakeRenderer

    def fail(*_: object) -> None:
        raise RenderError("Blender could not be started")

    monkeypatch.setattr(FakeRenderer, "render", fail)
    result = trex("find", write_query(tmp_path), "--out", tmp_path / "run")
    assert result.exit_code == 1
    assert "error: Blender could not be started" in result.stderr


def test_render_refuses_what_holds_no_scene(tmp_path: Path) -> None:
    assert "nothing to render" in trex("render", "scenes", "--out", tmp_path / "out").stderr
    (tmp_path / "scene.json").write_text("[]")
    assert trex("render", "scenes", tmp_path / "scene.json").exit_code == 2
    assert trex("render", "scenes", tmp_path / "none.json").exit_code == 2
    assert trex("render", "scenes", "--prior", "1", "--objects", "many").exit_code == 2


@pytest.mark.slow
@pytest.mark.blender
def test_render_from_the_prior_and_again_from_its_own_json(tmp_path: Path) -> None:
    first = trex(
        "render", "scenes", "--prior", "2", "--preset", "draft", "--device", "cpu", "--out", tmp_path / "a"
    )
    assert first.exit_code == 0, first.stderr
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == [f"scene_00000{k}.{end}" for k in (0, 1) for end in ("json", "mask.png", "png")]
    again = trex("render", "scenes", tmp_path / "a" / "scene_000001.json", "--preset", "draft", "--device", "cpu",
                 "--out", tmp_path / "b")  # fmt: skip
    assert again.exit_code == 0, again.stderr
    for name in ("scene_000001.png", "scene_000001.mask.png"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_models_list_names_what_there_is() -> None:
    result = trex("models", "list")
    assert result.exit_code == 0
    assert "shipped" in result.stdout
    assert "relation-network" in result.stdout
    assert all(form in result.stdout for form in ("onnx:", "hf:", "openai:", "ask:", "https:"))
    assert trex("models", "fetch", "resnet").exit_code == 2


def test_a_model_that_cannot_be_verified_is_answered_with_those_that_can() -> None:
    result = trex("models", "verify", "foo")
    assert result.exit_code == 2
    assert all(name in result.stderr for name in ("shipped", "relation-network:ir", "iep:lstm", "resnet101"))
    assert result.stderr.rstrip().endswith("). With --dataset, any --model can be verified.")


@pytest.mark.parametrize("name", ["relation-network", "iep", "resnet101"])
def test_a_source_that_is_not_there_is_named_as_it_was_given(tmp_path: Path, name: str) -> None:
    result = trex("models", "fetch", name, "--from", tmp_path / "nothing")
    assert result.exit_code == 2
    assert f"--from {tmp_path / 'nothing'} does not exist" in result.stderr


def test_the_version_is_told() -> None:
    assert trex("--version").stdout == f"trex {version('bayes-trex')}\n"


def test_help_groups_the_commands_by_what_they_are_for() -> None:
    text = trex("-h").stdout
    places = [
        text.index(name) for name in ("One query", "Why, and how often", "Many queries", "Models and pic")
    ]
    assert places == sorted(places)
    assert "─ Commands ─" not in text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a query, a run, and files that are neither."""
    folder = tmp_path_factory.mktemp("place")
    run(folder)
    (folder / "runs").mkdir()
    (folder / "run").rename(folder / "runs" / "done")
    (folder / "mine").mkdir()
    (folder / "query.toml").rename(folder / "mine" / "query.toml")
    (folder / "mine" / "notes.txt").touch()
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "query.toml").touch()
    return folder


def offered(words: str) -> list[str]:
    texts = {"_TREX_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = CliRunner().invoke(app, [], prog_name="trex", env=texts)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("trex re", ["render", "repair", "report", "resume"]),
        ("trex check m", ["mine/query.toml", "mnist_1_or_7", "mnist_sure_of_7"]),
        ("trex find mine/", ["mine/query.toml"]),
        ("trex check dem", ["demo"]),
        ("trex report r", ["runs/done"]),
        ("trex resume runs/d", ["runs/done"]),
        ("trex export ", ["runs/done"]),
        ("trex report mine/n", []),  # the shell then completes file names
    ],
)
def test_the_shell_is_offered_commands_queries_and_runs(
    place: Path, monkeypatch: pytest.MonkeyPatch, words: str, expected: list[str]
) -> None:
    monkeypatch.chdir(place)
    assert sorted(offered(words)) == expected


def test_a_shell_gets_its_script_and_help_names_the_option_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")  # which shell runs the tests
    script = CliRunner().invoke(app, ["--show-completion", "bash"], prog_name="trex")
    assert (script.exit_code, "complete -o default -F _trex_completion trex" in script.stdout) == (0, True)
    long, short = (CliRunner().invoke(app, [flag], prog_name="trex") for flag in ("--help", "-h"))
    assert long.stdout == short.stdout and long.stdout.count("--install-completion") == 1
