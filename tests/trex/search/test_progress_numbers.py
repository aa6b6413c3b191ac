"""The numbers of a search's progress line, and those that its sessions keep, are the run's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.running.runs import BANK, SEARCHES, run, write_query
from trex.finding.conclude import Outcome, renew_report
from trex.finding.find import find_query, resume
from trex.finding.source import query_file
from trex.runs.sessions import FILE, read_sessions
from trex.search.progress import Status

ENOUGH = [*SEARCHES["stops when found"], "render.fresh=2", "target.kind=threshold", "target.threshold=0.3"]


class Watched:
    """Keeps every status of a search."""

    def __init__(self) -> None:
        self.seen: list[Status] = []

    def update(self, status: Status) -> None:
        self.seen.append(status)

    def note(self, words: str) -> None:
        """No model here has one."""


def searched(folder: Path, overrides: list[str]) -> tuple[Outcome, list[Status]]:
    watcher = Watched()
    done = find_query(query_file(write_query(folder), overrides), folder / "run", watcher, lambda _: None)
    return done, watcher.seen


@pytest.mark.parametrize("overrides", [ENOUGH, [*BANK, *ENOUGH]], ids=["prior", "bank"])
def test_a_search_ends_on_what_it_found_and_a_finished_run_shows_it_from_the_start(
    tmp_path: Path, overrides: list[str]
) -> None:
    """Planted bug: both showed the hits as they were before the last phase: found 0, best confidence 0."""
    done, seen = searched(tmp_path, overrides)
    found, best = len(done.results.found), done.results.conclusion.best
    assert found >= 4
    assert (seen[-1].found, seen[-1].best) == (found, pytest.approx(best))
    again = Watched()
    resume(done.folder, again, lambda _: None)
    assert (again.seen[-1].found, again.seen[-1].best) == (found, seen[-1].best)
    assert all(status.found and status.best for status in again.seen)


@pytest.mark.parametrize("overrides", [ENOUGH, [*BANK, "render.noise=3"]], ids=["fresh", "noise, bank, led"])
def test_a_session_counts_every_picture_that_the_page_counts(tmp_path: Path, overrides: list[str]) -> None:
    """Planted bug: each step counted once, however many noise draws it took."""
    done, _ = searched(tmp_path, overrides)
    (session,) = read_sessions(done.folder)
    assert session.renders == done.results.renders + done.results.cheap


def test_a_session_that_rendered_nothing_does_not_slow_the_run_down_on_its_page(tmp_path: Path) -> None:
    done = run(tmp_path)
    (session,) = read_sessions(done.folder)
    idle = f'{{"began": "{session.began}", "seconds": 36000.0, "renders": 0}}\n'
    with (done.folder / FILE).open("a") as file:
        file.write(idle)
    assert " h " not in _small_print(renew_report(done.folder).report)


def _small_print(page: Path) -> str:
    html = page.read_text(encoding="utf-8")
    return html[html.index("<dt>Renders</dt>") :].partition(" a second</dd>")[0]
