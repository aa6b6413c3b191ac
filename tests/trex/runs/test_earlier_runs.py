"""A run that was made before the modules moved (commit 0d08ecc, the fake world) opens, reports and resumes."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.running.command_line import trex

EARLIER = Path(__file__).with_name("run_of_0d08ecc.zip")
KEPT = 11  # draws that the run had when it was stopped, of 20


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    with zipfile.ZipFile(EARLIER) as archive:
        archive.extractall(tmp_path)
    return tmp_path / "run"


def test_it_is_reported_with_the_findings_that_it_had(earlier: Path) -> None:
    before = json.loads((earlier / "findings.json").read_text())
    (earlier / "report.html").unlink()
    result = trex("report", earlier)
    assert result.exit_code == 0, result.stderr
    assert "How many red things are there?" in (earlier / "report.html").read_text()
    trex("resume", earlier, "--no-large")
    assert json.loads((earlier / "findings.json").read_text()) == before


def test_stopped_in_the_middle_it_resumes_to_the_same_draws(earlier: Path) -> None:
    whole = (earlier / "draws.jsonl").read_bytes()
    for name in ("draws.jsonl", "draws.check"):
        lines = (earlier / name).read_bytes().splitlines(keepends=True)
        (earlier / name).write_bytes(b"".join(lines[:KEPT]))
    for name in ("findings.json", "report.html", "finished", "found_scenes.json"):
        (earlier / name).unlink()
    result = trex("resume", earlier, "--no-large")
    assert result.exit_code == 0, result.stderr
    assert (earlier / "draws.jsonl").read_bytes() == whole


def test_the_same_query_finds_it_again(earlier: Path) -> None:
    draws = (earlier / "draws.jsonl").read_bytes()
    query = shutil.copy(earlier / "query.toml", earlier.parent / "q.toml")
    result = trex("find", query, "--out", earlier, "--no-large")
    assert result.exit_code == 0, result.stderr
    assert (earlier / "draws.jsonl").read_bytes() == draws
