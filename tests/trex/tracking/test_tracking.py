"""Runs logged with a tracker: what it receives, what is remembered, and what happens when it refuses."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.running.command_line import refused, trex
from tests.running.runs import run
from trex.foundation.errors import RunError
from trex.runs.draw_log import read_draws
from trex.runs.folder import open_run
from trex.search.results import read_results
from trex.tracking.log_run import FILE, log_run, run_log
from trex.tracking.tracker import RunLog, Tracker


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("searched"), ["search.steps=6"]).folder


@pytest.fixture
def log(searched: Path) -> RunLog:
    with open_run(searched, for_writing=False) as folder:
        return run_log(searched, folder.manifest, read_results(folder.manifest, read_draws(folder.draws)))


class Received:
    """A tracker that keeps what it receives and names runs one after another."""

    def __init__(self) -> None:
        self.earlier: list[str] = []

    @property
    def tracker(self) -> Tracker:
        return Tracker("here", lambda: None, self.send)

    def send(self, log: RunLog, identifier: str) -> str:
        self.earlier.append(identifier)
        return f"run-{len(self.earlier)}"


def test_a_log_holds_settings_figures_every_step_and_the_page(searched: Path, log: RunLog) -> None:
    found = json.loads((searched / "findings.json").read_text())
    assert log.parameters["search.steps"] == "6"
    assert log.parameters["question"] == "How many red things are there?"
    assert log.parameters["version.numpy"] == np.__version__
    assert log.figures["found"] == len(found["found"])
    assert [log.figures["rate_low"], log.figures["rate_high"]] == found["how_often"]["interval_95"]
    with open_run(searched, for_writing=False) as folder:
        results = read_results(folder.manifest, read_draws(folder.draws))
        target = folder.manifest.target
    values = {(step, name): value for step, row in log.series for name, value in row.items()}
    for draw in results.chains:
        confidence = values.pop((draw.index, f"confidence.chain_{draw.chain}"))
        assert confidence == target.confidence(draw.state.log_probs)
    assert not values
    assert {path.name for path in log.files} == {"report.html", "findings.json", "query.toml", "run.json"}


def test_a_second_time_replaces_the_first(searched: Path, log: RunLog, tmp_path: Path) -> None:
    place, received = tmp_path, Received()
    assert [log_run(place, log, received.tracker) for _ in range(2)] == ["run-1", "run-2"]
    assert received.earlier == ["", "run-1"]
    assert json.loads((place / FILE).read_text()) == {"here": "run-2"}


def test_what_a_tracker_refuses_is_said_with_the_command_that_tries_again(
    log: RunLog, tmp_path: Path
) -> None:
    def broken(log: RunLog, identifier: str) -> str:
        raise ConnectionError("no route to host")

    with pytest.raises(
        RunError, match=r"did not take the run: ConnectionError: no route.*trex report .* --log far"
    ):
        log_run(tmp_path, log, Tracker("far", lambda: None, broken))
    assert not (tmp_path / FILE).exists()


@pytest.mark.parametrize("text", ['{"here": "../../other"}', '{"here": 3}', "[]", "no json"])
def test_an_altered_list_of_identifiers_is_refused_before_anything_is_sent(
    text: str, log: RunLog, tmp_path: Path
) -> None:
    (tmp_path / FILE).write_text(text)
    received = Received()
    with pytest.raises(RunError, match=FILE):
        log_run(tmp_path, log, received.tracker)
    assert not received.earlier


def test_an_unknown_tracker_and_a_missing_package_are_refused_before_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    refused(trex("find", "demo", "--log", "neptun", "--out", out), "tracker 'neptun'", "mlflow, wandb")
    for name in ("mlflow", "wandb"):
        monkeypatch.setitem(sys.modules, name, None)
        refused(trex("find", "demo", "--log", name, "--out", out), f"pip install 'bayes-trex[{name}]'")
    assert not out.exists()


def test_a_comparison_is_not_logged(searched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", type(sys)("mlflow"))
    refused(trex("report", searched, searched, "--log", "mlflow"), "--log does not apply")


def test_mlflow_takes_a_run_and_a_second_time_leaves_one(
    searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    for _ in range(2):
        assert trex("report", searched, "--log", "mlflow").exit_code == 0
    client = mlflow.MlflowClient()
    experiment = client.get_experiment_by_name("bayes-trex").experiment_id
    (kept,) = client.search_runs([experiment])
    assert kept.data.params["search.steps"] == "6"
    assert {artifact.path for artifact in client.list_artifacts(kept.info.run_id)} >= {
        "report.html",
        "run.json",
    }


def test_wandb_takes_a_run_offline(searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    assert trex("report", searched, "--log", "wandb").exit_code == 0
    assert list(tmp_path.glob("wandb/offline-run-*"))
