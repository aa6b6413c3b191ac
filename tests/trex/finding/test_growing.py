"""What is likeliest is rendered first, and the page of a search is there from the first find on."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.running.runs import BANK, draws, go_on, leave_draws, run, seal_draws
from trex.finding.find import GrowingPage
from trex.report.context import NOT_YET
from trex.runs.draw_log import read_draws
from trex.runs.folder import open_run
from trex.runs.journal import Journal
from trex.runs.record import BANK as BANK_PHASE
from trex.runs.record import LIKELY, PRIOR, Record
from trex.search.progress import Silent, Status
from trex.search.results import read_results
from trex.search.sampling.prior_plan import LIKELIEST
from trex.worlds.latents import identity

FINDING = [*BANK, "answer=1", "search.steps=0", "render.fresh=1"]


def rows_of(folder: Path) -> list[Record]:
    with open_run(folder, for_writing=False) as opened:
        return read_draws(opened.draws, opened.manifest)


def test_the_likeliest_scenes_come_first_and_count_for_no_rate(tmp_path: Path) -> None:
    done = run(tmp_path, FINDING)
    rows = rows_of(done.folder)
    bank = [row for row in rows if row.phase == BANK_PHASE]
    likely = [row for row in rows if row.phase == LIKELY]
    best = np.argsort([-row.log_weight for row in bank], kind="stable")[:LIKELIEST]
    assert [identity(row.z) for row in likely] == [identity(bank[k].z) for k in best]
    phases = list(dict.fromkeys(row.phase for row in rows if row.phase != "noise"))
    assert phases[:3] == [BANK_PHASE, LIKELY, PRIOR]
    sample = done.results.sample
    assert len(sample.draws) == sum(row.phase == PRIOR for row in rows)


def test_a_scene_that_was_rendered_first_and_in_the_sample_is_one_find_from_one_start(tmp_path: Path) -> None:
    """Planted bug: its first picture came from nowhere, so that it counted as a start of its own."""
    done = run(tmp_path, FINDING)
    sample = {identity(draw.z): draw.index for draw in done.results.sample.draws}
    found = [hit for hit in done.results.found if hit.record.phase == LIKELY]
    assert found, "some of the likeliest hit"
    assert len({identity(hit.record.z) for hit in done.results.found}) == len(done.results.found)
    assert any(identity(hit.record.z) in sample for hit in found)
    assert all("of the likeliest in the bank" in hit.origin for hit in found)


def test_a_run_of_before_goes_on_without_them(tmp_path: Path) -> None:
    """Its sample was begun without them. Planted bug: they were drawn after it."""
    done = run(tmp_path, FINDING)
    lines = draws(done.folder).splitlines(keepends=True)
    begun = [row for row in lines if b'"phase":"bank"' in row or b'"phase":"prior"' in row][:65]
    leave_draws(done.folder, b"".join(begun))
    seal_draws(done.folder)
    again = go_on(done.folder)
    assert not any(row.phase == LIKELY for row in rows_of(again.folder))
    assert again.results.how_often == done.results.how_often


@pytest.mark.parametrize("cut", [62, 70, 77])
def test_a_kill_among_them_costs_no_draw(tmp_path: Path, cut: int) -> None:
    done = run(tmp_path, FINDING)
    whole = draws(done.folder)
    leave_draws(done.folder, b"".join(whole.splitlines(keepends=True)[:cut]))
    assert draws(go_on(done.folder).folder) == whole


def status(found: int) -> Status:
    return Status("chain", 1, 2, renders=10, steps=1, accepted=1, best=0.9, found=found, wanted=0)


def test_the_page_is_written_when_more_is_found_and_takes_little_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted bug: written with every draw, it took longer than the search."""
    done = run(tmp_path, FINDING)
    written: list[bool] = []

    def write(*given: object, reloads: bool) -> None:
        written.append(reloads)

    monkeypatch.setattr("trex.finding.find.write_report", write)
    # The seconds at which it looks: at the begin, then at each update, and after each page, which takes one second.
    seconds = iter([0.0, 5.0, 12.0, 13.0, 20.0, 34.0, 35.0, 80.0])
    with open_run(done.folder, for_writing=True) as folder, Journal(folder) as journal:
        page = GrowingPage(folder, journal, Silent(), clock=lambda: next(seconds))
        told = itertools.accumulate([page.update(status(k)) or len(written) for k in (1, 1, 2, 2, 2)], max)
        assert list(told) == [0, 1, 1, 2, 2] and written == [True, True]


def test_a_page_of_a_search_says_that_it_grows(tmp_path: Path) -> None:
    done = run(tmp_path, FINDING)
    rows = rows_of(done.folder)
    (done.folder / "finished").unlink()
    with open_run(done.folder, for_writing=True) as folder, Journal(folder) as journal:
        seconds = iter([0.0, 20.0, 21.0])
        GrowingPage(folder, journal, Silent(), clock=lambda: next(seconds)).update(status(1))
        assert len(journal.records) == len(rows)
    text = (done.folder / "report.html").read_text()
    assert '<meta http-equiv="refresh"' in text and "what it has found so far and reloads itself" in text
    again = go_on(done.folder).report.read_text()
    assert '<meta http-equiv="refresh"' not in again
    for words in ("How often in ", "Also in <code>", "What may be said"):
        assert words in again and words not in text, f"{words!r} waits for the end of the search"
    assert "unsearched" not in again
    assert NOT_YET in text and NOT_YET not in again


def test_the_best_confidence_is_that_of_all_draws(tmp_path: Path) -> None:
    """Planted bug: the likeliest scenes that the sample does not hold were left out."""
    done = run(tmp_path, FINDING)
    assert done.results.conclusion.best >= max(hit.confidence for hit in done.results.found)
    target, rows = done.manifest.target, rows_of(done.folder)
    likely = max(target.confidence(row.log_probs) for row in rows if row.phase == LIKELY)
    hits = [row for row in rows if row.phase == PRIOR and target.is_hit(row.log_probs)]
    worse = min(hits, key=lambda row: target.confidence(row.log_probs))
    begun = [row for row in rows if row.phase in (BANK_PHASE, LIKELY)] + [replace(worse, index=0)]
    conclusion = read_results(done.manifest, begun).conclusion
    assert conclusion.best == likely > target.confidence(worse.log_probs)
