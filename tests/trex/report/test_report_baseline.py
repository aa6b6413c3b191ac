"""A baseline beside a run's report, and what `trex report` refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.running.command_line import refused, trex
from tests.running.runs import run, write_query
from trex.finding.conclude import Outcome
from trex.inference.statistics.paired import Paired
from trex.report import compare as module
from trex.report.compare import PairedTest, compare
from trex.trials.baseline.run import make_baseline
from trex.trials.options import BaselineOptions


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return run(tmp_path_factory.mktemp("beside"), ["search.steps=4"])


def baseline(folder: Path, overrides: list[str], n: int = 12, seed: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    wanted = BaselineOptions(rendered=n, cache=folder / "cache", seed=seed)
    return make_baseline([write_query(folder)], overrides, wanted, folder / "out", lambda *_: None).folder


def test_the_report_shows_the_baseline_beside_the_run(done: Outcome, tmp_path: Path) -> None:
    place = baseline(tmp_path, ["search.steps=4"])
    assert trex("report", done.folder, "--baseline", place).exit_code == 0
    html = done.report.read_text(encoding="utf-8")
    assert "Without a search" in html
    assert "of 12" in html
    assert trex("report", done.folder).exit_code == 0  # it stays
    assert "Without a search" in done.report.read_text(encoding="utf-8")


def test_a_baseline_of_the_same_source_is_replaced_and_others_stay(done: Outcome, tmp_path: Path) -> None:
    first, other = baseline(tmp_path / "a", []), baseline(tmp_path / "b", [], n=7, seed=3)
    for place in (first, other, other):
        assert trex("report", done.folder, "--baseline", place).exit_code == 0
    html = done.report.read_text(encoding="utf-8")
    assert html.count("<h2>Without a search</h2>") == 2


@pytest.mark.parametrize(
    ("override", "what"),
    [
        ("answer=3", "target"),
        ("scene.objects=4", "world"),
        ('question="How many blue things are there?"', "question"),
    ],
)
def test_another_query_cannot_stand_beside_it(
    override: str, what: str, done: Outcome, tmp_path: Path
) -> None:
    before = done.report.read_bytes()
    result = trex("report", done.folder, "--baseline", baseline(tmp_path, [override]))
    assert result.exit_code == 2
    assert f"its {what} is" in result.stderr
    assert done.report.read_bytes() == before


def test_what_is_no_baseline_or_no_run_is_refused(done: Outcome, tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_text('{"format": 1, "base')
    for words, text in (
        (("report", done.folder, "--baseline", tmp_path / "cut.json"), "is damaged"),
        (
            ("report", done.folder, "--baseline", tmp_path / "nothing"),
            "make one: trex baseline QUERY --rendered 1000",
        ),
        (("report", done.folder, tmp_path), "is not a run folder"),
        (("report", tmp_path), "is not a run folder"),
        (("report", done.folder, done.folder), "given twice"),
        (("report", done.folder, tmp_path, "--format", "netcdf"), "drop them"),
        (("report", done.folder, "--format", "pdf"), "pdf"),
    ):
        result = trex(*words)
        assert result.exit_code == 2, result.output
        assert text in result.stderr


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("repair.json", "a repair; see it by: trex repair report {}"),
        ("audit.json", "an audit; its page is {}/report.html"),
        ("baseline.json", "a baseline; its page is {}/baseline.html"),
        ("demo/run.json", "it holds 1 run; give one, such as {}/demo"),
        ("other.json", "it has no run.json; give a folder that trex find has written"),
        ("draws.jsonl", "it has no run.json; give a folder that trex find has written"),
    ],
)
def test_what_another_folder_is_and_what_to_give_in_its_place_is_told(
    name: str, told: str, tmp_path: Path
) -> None:
    place = tmp_path / "folder"
    refused(trex("report", place), f"{place} is not a run folder: there is no such folder; give one that")
    (place / name).parent.mkdir(parents=True)
    (place / name).touch()
    refused(trex("report", place), f"{place} is not a run folder: {told.format(place)}")


def test_a_damaged_explanation_or_baseline_in_the_folder_is_named(tmp_path: Path) -> None:
    outcome = run(tmp_path, ["search.steps=0"])
    (outcome.folder / "baseline.json").write_text("[]")
    assert "baseline.json" in trex("report", outcome.folder).stderr
    (outcome.folder / "baseline.json").unlink()
    (outcome.folder / "explanations").mkdir()
    (outcome.folder / "explanations" / f"{'0' * 32}.json").write_text("{}")
    result = trex("report", outcome.folder)
    assert result.exit_code == 2
    assert f"{'0' * 32}.json is damaged" in result.stderr


def test_comparing_writes_where_it_is_told(done: Outcome, tmp_path: Path) -> None:
    other = run(tmp_path, ["search.steps=0"], "other")
    result = trex("report", done.folder, other.folder, "--out", tmp_path / "page.html")
    assert result.exit_code == 0
    assert "runs side by side" in (tmp_path / "page.html").read_text(encoding="utf-8")
    result = trex("report", done.folder, other.folder, "--out", tmp_path / "no" / "page.html")
    assert result.exit_code == 2
    assert "page.html" in result.stderr


@pytest.mark.parametrize(("runs", "is_clear"), [(2, True), (3, False)])
def test_a_p_value_is_corrected_for_all_pairs_of_runs(
    runs: int, is_clear: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: each of three pairs was tested at 5%."""
    monkeypatch.setattr(module, "_read", lambda path, name: SimpleNamespace(name=name))
    monkeypatch.setattr(module, "_shared", lambda item, other: [])
    monkeypatch.setattr(module, "_why_not", lambda item, other, n: "")
    alone = PairedTest("a", "b", "right answers", Paired(0, 9, 1, 0), 0.02)
    monkeypatch.setattr(module, "_tests", lambda item, other, shared: [alone])
    found = compare([Path(f"run-{k}") for k in range(runs)]).tests
    pairs = runs * (runs - 1) // 2
    assert [test.p_value for test in found] == pytest.approx([0.02 * pairs] * pairs)
    assert all(test.is_clear is is_clear for test in found)
    words = "b has more right answers than a: 9 of 10 against 1 (exact McNemar test, p = 0.02)."
    unclear = "No clear difference in right answers: a 1 of 10, b 9 (exact McNemar test, p = 0.06)."
    assert str(replace(found[0], counts=Paired(0, 1, 9, 0))) == (words if is_clear else unclear)
