"""Everything below a runs folder is listed, and pages lead to the runs that they are about."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urljoin

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.running.command_line import trex_done
from tests.running.farm_runs import finished, line_of, queued, working
from tests.running.runs import QUERY, run, write_query
from tests.serving.browser import chromium, console, open_page
from tests.serving.served import Site, served
from trex.farm.queue import queue
from trex.farm.queue.entry import Entry
from trex.pages.page import link_below
from trex.runs.folder import MANIFEST

TOKEN = "0123456789abcdef-the-token"
CELLS = ("seed 1", "seed 2")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A queue, and beside it a demo, an experiment of two cells, a baseline, a comparison, a run without a report."""
    folder = tmp_path_factory.mktemp("shelf")
    runs = queued(folder, "search.seed=1,2")
    run(folder, [], "runs/demo")
    run(folder, ["search.seed=5"], "runs/half")
    for name in ("report.html", "findings.json", "finished"):
        (runs / "half" / name).unlink()
    write_query(folder, QUERY)
    trex_done("baseline", folder / "query.toml", "--rendered", 20, "--out", runs / "baseline-query")
    cells = [runs / "experiments" / "pair" / name for name in CELLS]
    for number, cell in enumerate(cells, start=1):
        run(folder, [f"search.seed={number}"], str(cell.relative_to(folder)))
    rows = "".join(f'<a href="{quote(name)}/report.html">{name}</a>' for name in CELLS)
    (cells[0].parent / "experiment.html").write_text(f"<!doctype html><title>Two seeds</title>{rows}")
    trex_done("report", runs / "demo", *cells, "--out", runs / "comparison.html")
    (runs / "linked").symlink_to(folder)
    (folder / "secret.html").write_text("secret")
    (runs / ".hidden").mkdir()
    (runs / ".hidden" / "page.html").write_text("secret")
    return runs


@pytest.fixture(scope="module")
def site(runs: Path) -> Iterator[Site]:
    with served(runs) as site:
        yield site


@pytest.mark.slow
def test_a_name_that_is_not_utf8_does_not_take_the_list_down(runs: Path, site: Site) -> None:
    path = os.fsencode(runs) + b"/r\xe9sultats.html"
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    try:
        answer = site.get("/all")
        assert answer.status == 200 and "sultats" not in answer.text
    finally:
        os.unlink(path)


def test_a_run_whose_files_hold_no_text_does_not_take_the_list_down(tmp_path: Path) -> None:
    """Planted bug: half of a surrogate pair was read, and the page of all runs could not be sent."""
    for name in ("sound", "strange"):
        word = "\\ud800" if name == "strange" else "sound"
        (tmp_path / name).mkdir()
        (tmp_path / name / "report.html").write_text("a page")
        (tmp_path / name / "run.json").write_text(f'{{"facts": {{"question": "a {word} question"}}}}')
        (tmp_path / name / "findings.json").write_text(f'{{"ending": "{word}", "best_confidence": 0.5}}')
    with served(tmp_path) as site:
        answer = site.get("/all")
    assert answer.status == 200 and "a sound question" in answer.text and "strange" in answer.text


def links(page: str) -> list[str]:
    return [part.split('"')[0] for part in page.split('href="')[1:]]


def test_every_run_and_page_below_the_folder_is_listed(site: Site) -> None:
    page = site.get("/all")
    assert page.status == 200
    files = [link for link in links(page.text) if link.startswith("/files/")]
    assert files == [
        "/files/baseline-query/baseline.html",
        "/files/comparison.html",
        "/files/demo/report.html",
        "/files/experiments/pair/experiment.html",
        "/files/experiments/pair/seed%201/report.html",
        "/files/experiments/pair/seed%202/report.html",
    ]
    for words in ("<td>baseline</td>", "<td>comparison</td>", "<td>experiment</td>", "no report yet"):
        assert words in page.text
    assert "How many red things are there?" in line_of(page.text, "/files/demo/")
    assert "secret" not in page.text
    assert 'href="/all"' in site.get("/").text and 'href="/"' in page.text
    for path in files:
        answer = site.get(path)
        assert answer.status == 200 and "sandbox" in answer.headers["content-security-policy"], path


def test_links_of_experiments_and_comparisons_hold_as_files_and_served(site: Site, runs: Path) -> None:
    for name, count in (("experiments/pair/experiment.html", 2), ("comparison.html", 3)):
        found = [link for link in links((runs / name).read_text()) if link.endswith("report.html")]
        assert len(found) == count, name
        for link in found:
            assert ".." not in link and ":" not in link and not link.startswith("/")
            assert ((runs / name).parent / link.replace("%20", " ")).is_file()
            assert site.get(urljoin(f"/files/{name}", link)).status == 200


def test_a_page_elsewhere_gets_no_link_to_what_lies_outside_its_folder(runs: Path, tmp_path: Path) -> None:
    trex_done(
        "report",
        runs / "demo",
        runs / "experiments" / "pair" / "seed 1",
        "--out",
        tmp_path / "comparison.html",
    )
    assert not [link for link in links((tmp_path / "comparison.html").read_text()) if "report" in link]
    assert link_below(runs / "comparison.html", runs / "half" / "report.html") == "", "it has no report"
    assert link_below(runs / "demo" / "page.html", runs / "comparison.html") == ""


@pytest.mark.parametrize(
    "path",
    ["linked/secret.html", ".hidden/page.html", "../secret.html", "%2e%2e/secret.html", "demo/run.json", "", "/",
     "demo//report.html", "demo/../demo/report.html", "demo/%00.html", "queue.sqlite", "%ff%fe.html"],
)  # fmt: skip
def test_no_file_but_pages_below_the_folder_is_served(path: str, site: Site) -> None:
    assert site.get(f"/files/{path}").text == "not found\n"


def test_a_manifest_that_names_a_module_is_read_without_importing_it(tmp_path: Path) -> None:
    run(tmp_path, [], "runs/demo")
    manifest = tmp_path / "runs" / "demo" / MANIFEST
    manifest.write_text(manifest.read_text().replace('"name": "clevr"', '"name": "no_such_module:kind"'))
    with served(tmp_path / "runs") as site:
        assert "How many red things are there?" in site.get("/all").text


def test_members_of_a_sweep_are_told_apart_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "runs"
    words = ["--sweep", "search.seed=1,2,3", "--set", "target.width=0.07", "--runs", runs]
    added = trex_done("queue", "add", write_query(tmp_path), *words).stdout
    first, second, third = queue.entries(runs)
    finished(runs, first)
    working(runs, time.time())
    monkeypatch.setenv("COLUMNS", "220")
    shown = {
        "add": added,
        "list": trex_done("queue", "list", "--runs", runs).stdout,
        "top": trex_done("queue", "watch", "--once", "--runs", runs).stdout,
    }
    for number, entry in enumerate((first, second, third), start=1):
        for name, text in shown.items():
            assert f"search.seed={number} target.width=0.07" in line_of(text, entry.id[:10] + "  "), name
        assert f"search.seed={number}" in trex_done("queue", "show", entry.id, "--runs", runs).stdout
    with served(runs) as site:
        check_served(site, (first, second, third))


def check_served(site: Site, entries: tuple[Entry, ...]) -> None:
    page = site.get("/").text
    for number, entry in enumerate(entries, start=1):
        row = page.split(f'<a href="/runs/{entry.folder}">')[-1].split("</tr>")[0]
        assert f"<td>search.seed={number} target.width=0.07</td>" in row
        assert f"search.seed={number}" in site.get(f"/runs/{entry.folder}").text


def test_a_link_from_one_page_to_another_works_in_a_browser_that_has_the_token(runs: Path) -> None:
    """A sandboxed page has no origin; its links need the token all the same."""
    with served(runs, TOKEN) as site, chromium() as browser:
        wait = WebDriverWait(browser, 60)
        open_page(browser, f"{site.url}/all".replace("//", f"//anyone:{TOKEN}@", 1))
        wait.until(lambda _: browser.find_elements(By.ID, "shelf"))
        browser.find_element(By.LINK_TEXT, "experiments/pair").click()
        wait.until(lambda _: "Two seeds" in browser.title)
        browser.find_element(By.LINK_TEXT, "seed 1").click()
        wait.until(lambda _: "red things" in browser.title)
        assert "/files/experiments/pair/seed%201/report.html" in browser.current_url
        assert console(browser) == []
