"""`trex label` as it is typed."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.running.command_line import refused, trex, trex_done
from tests.serving.labelling import Annotator, started
from tests.serving.marking import stored
from tests.worlds.repair_toy import tree


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored(tmp_path / "b").folder


def test_marks_of_a_file_are_counted_and_told(folder: Path, tmp_path: Path) -> None:
    page, votes = tmp_path / "page.html", tmp_path / "votes.csv"
    assert f"trex label {folder} --votes FILE.csv" in trex_done("label", folder, "--export", page).stdout
    assert "Does the picture show what its label says?" in page.read_text()
    votes.write_text("picture,annotator,label\nm00000,Ada,mislabelled\n")
    done = trex_done("label", folder, "--votes", votes)
    assert "1 new mark from" in done.stderr
    assert "without wrong labels 1 of 3" in done.stdout and "b.toml" not in done.stdout
    assert "all queries: of 4 true mistakes, 2 with a wrong label" in done.stdout
    document = json.loads(trex_done("label", folder, "--json").stdout)
    assert document["baselines"][0]["marks"] == {"mislabelled": 1, "mistake": 0, "unclear": 0, "unmarked": 1}


@pytest.mark.slow
@pytest.mark.process
def test_a_killed_server_keeps_its_marks_and_a_stopped_one_counts_them(folder: Path) -> None:
    with started("label", folder) as (process, site):
        assert Annotator(site, "Ada").vote("mislabelled").status == 303
        process.kill()
        process.wait(timeout=60)
    with started("label", folder) as (process, site):
        assert "Picture 2 of 2" in Annotator(site, "Ada").look().text
        refused_while_served = trex("label", folder)
        assert refused_while_served.exit_code and "another process marks" in refused_while_served.stderr
        assert Annotator(site, "Bob").vote("mislabelled").status == 303
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert (
        process.returncode == 0 and "with a wrong label" in out and "all queries: of 4 true mistakes" in out
    )


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("--serve --votes votes.csv", "--votes does not apply: --serve only collects votes"),
        ("--export page.html --votes votes.csv", "--votes does not apply"),
        ("--port 8000", "--port does not apply: only the served page"),
        ("--serve --port 70000", "--port 70000 is not a port"),
        ("--serve --token short", "the token has only 5 characters"),
        ("--export nowhere/page.html", "--export nowhere/page.html cannot be written"),
        ("--votes nowhere.csv", "nowhere.csv"),
    ],
)
def test_options_that_do_not_fit_are_refused(folder: Path, words: str, text: str) -> None:
    before = {name: data for name, data in tree(folder).items() if "lock" not in name}
    refused(trex("label", folder, *words.split()), text)
    assert {name: data for name, data in tree(folder).items() if "lock" not in name} == before


def test_a_folder_without_a_baseline_is_named(tmp_path: Path) -> None:
    refused(trex("label", tmp_path), "there is no baseline", "trex baseline QUERY")
