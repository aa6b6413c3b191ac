"""Every exit code of the table in docs/reference/commands.md, by the command that gives it."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import h5py
import pytest

from tests.running.command_line import refused, trex
from tests.running.junit_files import check_valid
from tests.running.runs import run, without_reports, write_query
from tests.serving.documents import ROOT
from trex.search.judging import fail_if
from trex.search.judging.fail_if import Decision

TESTED = {0, 1, 2, 3, 4, 130}


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    with without_reports():
        yield


@pytest.fixture(scope="module")
def searched(quick: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with hits: 1 of 12 prior draws, so the interval of the rate is about .2% to 38%."""
    return run(tmp_path_factory.mktemp("searched")).folder


def find(searched: Path, *words: object) -> tuple[int, str]:
    """`trex find` of the same query in the same folder: the search is there already."""
    result = trex("find", searched.parent / "query.toml", "--out", searched, "--no-large", *words)
    return result.exit_code, result.stdout


def test_the_table_of_the_documents_has_the_tested_codes() -> None:
    table = re.findall(
        r"^\| (\d+) \|", (ROOT / "docs" / "reference" / "commands.md").read_text("utf-8"), re.M
    )
    assert sorted(map(int, table)) == sorted(TESTED)


@pytest.mark.parametrize(
    ("conditions", "code", "verdict"),
    [
        ([], 0, ""),
        (["rate > 0.9"], 0, "PASS on rate > 0.9: the rate is "),
        (["found"], 3, "FAIL on found: 2 distinct hits found; the rate is "),
        (["rate > 0.0001"], 3, "FAIL on rate > 0.0001"),
        (["rate > 0.01"], 4, "UNDECIDED on rate > 0.01"),
        (["rate > .1", "found"], 3, "UNDECIDED on rate > .1"),
        (["rate > .1", "rate > .9"], 4, "PASS on rate > .9"),
    ],
)
@pytest.mark.parametrize("command", ["find", "resume", "report"])
def test_a_condition_decides_the_exit_code(
    searched: Path, command: str, conditions: list[str], code: int, verdict: str
) -> None:
    options = [word for condition in conditions for word in ("--fail-if", condition)]
    if command == "find":
        ended, out = find(searched, *options)
    else:
        result = trex(command, searched, *(["--no-large"] if command == "resume" else []), *options)
        ended, out = result.exit_code, result.stdout
    assert ended == code, out
    assert verdict in out and out.splitlines()[-1].startswith("report: ")


def test_a_point_estimate_that_decides_is_noticed(searched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: 1 of 12 is above 1%, and nobody can tell whether the rate is."""
    monkeypatch.setattr(fail_if, "decide_rate", lambda condition, _: Decision.FAIL)
    assert find(searched, "--fail-if", "rate > 0.01")[0] != 4


def test_verdicts_for_machines(searched: Path, tmp_path: Path) -> None:
    junit = tmp_path / "verdicts.xml"
    conditions = ["--fail-if", "found", "--fail-if", "rate > 0.01", "--fail-if", "rate > .9"]
    code, out = find(searched, *conditions, "--junit", junit, "--json")
    message = json.loads(out)["verdicts"]
    assert code == 3 and [item["verdict"] for item in message] == ["fail", "undecided", "pass"]
    (suite,) = ElementTree.parse(junit).getroot()
    assert [case.attrib["name"] for case in suite] == ["found", "rate > 0.01", "rate > .9"]
    assert [[reason.tag for reason in case] for case in suite] == [["failure"], ["error"], []]
    assert {case.attrib["classname"] for case in suite} == {"run"}
    assert [case[0].text for case in suite if len(case)] == [item["reason"] for item in message[:2]]


@pytest.mark.parametrize("command", ["resume", "report"])
def test_the_junit_file_of_every_verdict_is_valid(command: str, searched: Path, tmp_path: Path) -> None:
    conditions = ["--fail-if", "found", "--fail-if", "rate > 0.01", "--fail-if", "rate > .9"]
    assert trex(command, searched, *conditions, "--junit", tmp_path / "j.xml").exit_code == 3
    check_valid(tmp_path / "j.xml")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("draws.jsonl", "holds something else"), ("run.json", "holds something else"), ("pipe", "no regular file"),
        ("theirs", "holds something else"),
        ("link", "is a link"), (".", "name a file"), ("no/page.html", "existing, writable folder"),
    ],
)  # fmt: skip
def test_a_page_and_a_junit_file_replace_nothing_else(
    name: str, words: str, searched: Path, tmp_path: Path
) -> None:
    """Planted bugs: `--out RUN/draws.jsonl` wrote the page over the draws, `--out notes.html` over another's page,
    and `--out weather.nc` over another's data."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    place = (searched if name.endswith(("jsonl", "json")) else tmp_path) / name
    before = (searched / "draws.jsonl").read_bytes(), (searched / "run.json").read_bytes()
    theirs = {
        "html": '<!doctype html>\n<html lang="en">',
        "netcdf": "CSV",
        "xml": '<?xml version="1.0"?><testsuites>',
    }
    for kind, options in (
        ("html", ["--out"]), ("netcdf", ["--format", "netcdf", "--out"]), ("xml", ["--fail-if", "found", "--junit"]),
    ):  # fmt: skip
        if name == "theirs":
            place.write_text(theirs[kind])
        refused(trex("report", searched, *options, place), words)
    with h5py.File(tmp_path / "theirs.nc", "w") as file:
        file["t2m"] = [280.0, 281.5]
    theirs_before = (tmp_path / "theirs.nc").read_bytes()
    refused(
        trex("report", searched, "--format", "netcdf", "--out", tmp_path / "theirs.nc"),
        "holds something else",
    )
    assert (tmp_path / "theirs.nc").read_bytes() == theirs_before
    refused(trex("report", searched, "--out", ""), "name a file")
    assert ((searched / "draws.jsonl").read_bytes(), (searched / "run.json").read_bytes()) == before
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and (tmp_path / "link").is_symlink()


def test_the_junit_file_of_a_search_is_valid(tmp_path: Path) -> None:
    options = ("--out", tmp_path / "run", "--fail-if", "found", "--junit", tmp_path / "j.xml")
    assert trex("find", write_query(tmp_path), *options).exit_code in (0, 3)
    check_valid(tmp_path / "j.xml")


@pytest.mark.parametrize("command", ["find", "resume", "report"])
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--fail-if", "rate >> 1"], "--fail-if 'rate >> 1' is not a condition"),
        (["--junit", "j.xml"], "--junit does not apply"),
        (["--fail-if", "found", "--junit", "no/j.xml"], "--junit no/j.xml cannot be written"),
    ],
)
def test_a_bad_option_is_refused_before_anything_is_rendered(
    command: str, options: list[str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`resume` names the option too, although there is no run: options come first."""
    monkeypatch.chdir(tmp_path)
    query = write_query(tmp_path)
    refused(trex(command, query if command == "find" else "no-run", *options), named)
    assert list(tmp_path.iterdir()) == [query]


@pytest.mark.parametrize(("condition", "code"), [("found", 3), ("rate > .9", 4)])
def test_of_an_unfinished_search_only_a_hit_decides(
    searched: Path, tmp_path: Path, condition: str, code: int
) -> None:
    """An interval that is looked at again and again until it decides would decide wrongly more often."""
    part = Path(shutil.copytree(searched, tmp_path / "part"))
    (part / "finished").unlink()
    result = trex("report", part, "--fail-if", condition, "--json")
    assert result.exit_code == code
    (verdict,) = json.loads(result.stdout)["verdicts"]
    assert ("has not finished" in verdict["reason"]) == (code == 4)


@pytest.mark.parametrize("extra", [["--format", "netcdf"], ["RUN2"]])
def test_a_condition_on_anything_but_the_page_of_one_run_is_refused(extra: list[str]) -> None:
    refused(trex("report", "RUN", *extra, "--fail-if", "found"), "--fail-if does not apply")


def test_a_stopped_search_exits_130_whatever_the_condition(
    searched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("trex.finding.find.find_query", stop)
    assert find(searched, "--fail-if", "found")[0] == 130
