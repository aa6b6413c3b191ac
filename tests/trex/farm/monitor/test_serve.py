"""The pages of `trex queue serve`: what they show, and that they show nothing else to nobody else."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.running.command_line import trex, trex_done
from tests.running.farm_runs import OWNER, finished, queued, working
from tests.serving.browser import chromium, console, open_page
from tests.serving.served import Site, served
from trex.farm.monitor import serve
from trex.farm.monitor.files import open_below
from trex.farm.queue import queue
from trex.farm.status import read_run_status
from trex.foundation.errors import InputError
from trex.pages import web
from trex.pages.address import check_address
from trex.pages.web import allow_many_connections

TOKEN = "0123456789abcdef-the-token"
SECRET = "root:x:0:0"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One finished, one running, one failed, two waiting; and files that nobody should see."""
    folder = tmp_path_factory.mktemp("served")
    runs = queued(folder)
    (folder / "secret").write_text(SECRET)
    finished(runs, queue.entries(runs)[0])
    lost = queue.claim(runs, OWNER, time.time(), 60.0)
    assert lost is not None
    queue.fail(runs, lost.id, OWNER, time.time(), "<script>alert(1)</script>")
    working(runs, time.time())
    (runs / "linked").symlink_to(folder)
    waiting = queue.entries(runs, ["queued"])[0]
    (runs / waiting.folder / "report.html").symlink_to(folder / "secret")
    return runs


@pytest.fixture(scope="module")
def site(runs: Path) -> Iterator[Site]:
    with served(runs) as site:
        yield site


def folder_of(runs: Path, state: str) -> str:
    return next(entry.folder for entry in queue.entries(runs) if entry.state == state)


def test_the_queue_and_a_run(site: Site, runs: Path) -> None:
    page = site.get("/")
    assert page.status == 200
    for words in ("2 queued, 1 running, 1 done, 1 failed", "How many red things are there?", "chains 6/12"):
        assert words in page.text
    assert OWNER not in page.text and "<script>alert" not in page.text
    assert f"/runs/{folder_of(runs, 'done')}/report" in page.text
    run = site.get(f"/runs/{folder_of(runs, 'done')}").text
    assert "Latest pictures" in run and str(runs) not in run
    assert 'http-equiv="refresh"' not in run
    assert 'http-equiv="refresh"' in site.get(f"/runs/{folder_of(runs, 'running')}").text
    picture = run.split('<img src="')[1].split('"')[0]
    assert site.get(picture).headers["content-type"] == "image/png"
    assert site.get(picture).text.startswith("\ufffdPNG")
    report = site.get(f"/runs/{folder_of(runs, 'done')}/report")
    assert report.status == 200 and "sandbox" in report.headers["content-security-policy"]
    assert "queued" not in site.get("/?state=failed").text.split("<tbody>")[-1]
    assert site.get(f"/runs/{folder_of(runs, 'failed')}").text.count("alert(1)") == 1  # why it failed


def test_pages_of_a_long_queue(tmp_path: Path) -> None:
    runs = queued(tmp_path, "search.seed=0..249")
    with served(runs) as site:
        rows = [
            site.get(f"/?state=queued&page={number}").text.count('<tr class="queued">')
            for number in (1, 2, 3)
        ]
        assert rows == [100, 100, 50]
        for path in ("/?page=4", "/?page=0", "/?page=x", "/?state=lost", "/?page=99999999999999999999"):
            assert (site.get(path).status, site.get(path).text) == (404, "not found\n")


HOSTILE = (
    "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd", "/runs/../secret",
    "/runs/..%2fsecret", "/runs/%2e%2e/report", "/runs/..", "/runs/....//....//etc/passwd", "/runs/linked/report",
    "/runs/linked/pictures/secret", "/runs/%00/report", "/runs/queue.sqlite", "/runs/queue.sqlite/report",
    "/runs/.farm/report", "/static/../serve.py", "/static/report.html", "/static/..%2fcli.py", "//etc/passwd",
    "/runs/" + "a" * 5000, "/runs/%c0%ae%c0%ae/report", "/openapi.json", "/docs", "/runs", "/runs/",
)  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE)
def test_nothing_outside_the_runs_is_shown(path: str, site: Site) -> None:
    answer = site.get(path)
    assert (answer.status, answer.text) == (404, "not found\n")


def test_links_in_a_run_folder_lead_nowhere(site: Site, runs: Path) -> None:
    """A report and a folder of pictures that are links to what lies outside."""
    name = folder_of(runs, "queued")
    assert site.get(f"/runs/{name}/report").text == "not found\n"
    (runs / name / "pictures").symlink_to(runs.parent)
    (runs.parent / f"{'0' * 32}.png").write_text(SECRET)
    assert site.get(f"/runs/{name}/pictures/{'0' * 32}.png").text == "not found\n"
    assert open_below(runs.parent, "secret") is not None  # the file itself could be read


def test_a_folder_named_like_a_page_is_no_page_and_leaves_nothing_open(runs: Path) -> None:
    (runs / "folder.html").mkdir(exist_ok=True)
    before = len(list(Path("/proc/self/fd").iterdir()))
    assert [open_below(runs, "folder.html") for _ in range(3)] == [None] * 3
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_page_that_follows_links_would_be_caught(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: files are opened by their path, as they are elsewhere."""
    monkeypatch.setattr(serve, "open_below", lambda runs, *names: runs.joinpath(*names).open("rb"))
    with served(runs) as site:
        assert site.get(f"/runs/{folder_of(runs, 'queued')}/report").text == SECRET


def test_every_answer_has_the_headers_that_protect(site: Site) -> None:
    for path in ("/", "/none", "/metrics", "/static/serve.css"):
        headers = site.get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"


def test_nothing_can_be_changed(site: Site, runs: Path) -> None:
    before = queue.entries(runs)
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        for path in ("/", f"/runs/{folder_of(runs, 'queued')}", "/metrics"):
            assert site.get(path, method, "x").status == 405
    assert site.raw(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nBroken\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert queue.entries(runs) == before


def test_another_host_name_is_not_answered_without_a_token(site: Site) -> None:
    """A page elsewhere that lets its own name point here."""
    for host in ("evil.example", "evil.example:80", "127.0.0.1.evil.example", ""):
        assert "queued" not in site.get("/", Host=host).text
    for host in ("localhost", f"127.0.0.1:{site.port}", "[::1]:80", "LOCALHOST:1"):
        assert site.get("/", Host=host).status == 200


def basic(token: str) -> str:
    """What a browser sends to whom a person gave this password."""
    return f"Basic {base64.b64encode(f'anyone:{token}'.encode()).decode()}"


def test_a_token_is_required_everywhere(runs: Path) -> None:
    with served(runs, TOKEN) as site:
        for path in (
            "/",
            "/metrics",
            "/events",
            f"/runs/{folder_of(runs, 'done')}/report",
            "/none",
            "/static/serve.js",
        ):
            seen = site.get(path, Accept="text/html")
            assert (seen.status, seen.text) == (401, "token required\n")
            assert seen.headers["www-authenticate"].startswith("Basic ")  # a browser prompts for it
            assert "default-src 'none'" in seen.headers["content-security-policy"]
        for wrong in (
            "Bearer",
            "Bearer x",
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            f"Basic {TOKEN}",
            basic(f"{TOKEN}x"),
            basic(""),
            TOKEN,
        ):
            assert site.get("/", Authorization=wrong).status == 401
        assert site.get(f"/?token={TOKEN}").status == 401  # an address would be kept in a history
        for right in (f"Bearer {TOKEN}", basic(TOKEN)):  # after any number of wrong ones
            assert site.get("/", Authorization=right).status == 200
        assert site.get("/metrics", Authorization=f"Bearer {TOKEN}", Host="farm.example").status == 200


def test_a_check_that_lets_all_in_would_be_caught(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "given_token", lambda _: TOKEN)
    with served(runs, TOKEN) as site:
        assert site.get("/").status == 200


@pytest.mark.parametrize(
    ("host", "port", "token", "text"),
    [
        ("0.0.0.0", 8321, None, "set a token in TREX_TOKEN"),
        ("::", 8321, None, "set a token in TREX_TOKEN"),
        ("192.0.2.7", 8321, None, "set a token in TREX_TOKEN"),
        ("0.0.0.0", 8321, "short", "give at least 16"),
        ("nowhere.example", 8321, None, "is not an IP address"),
        ("127.0.0.1", 70000, None, "--port 70000 is not a port"),
    ],
)  # fmt: skip
def test_what_is_refused_before_anything_is_served(
    host: str, port: int, token: str | None, text: str
) -> None:
    with pytest.raises(InputError, match=text):
        check_address(host, port, token)


def test_what_is_served(tmp_path: Path) -> None:
    assert check_address("localhost", 0, None) == "127.0.0.1"
    assert check_address("::1", 0, None) == "::1"
    assert check_address("0.0.0.0", 0, TOKEN) == "0.0.0.0"
    for words, text in (
        (["--runs", str(tmp_path / "none")], "is not a folder"),
        (["--runs", str(tmp_path), "--host", "192.0.2.7", "--token", TOKEN], "cannot listen on"),
    ):
        result = trex("queue", "serve", *words)
        assert result.exit_code == 2 and text in result.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    result = trex("queue", "serve", "--runs", tmp_path, "--port", "0")
    assert result.exit_code == 2
    assert "pip install 'bayes-trex[farm]'" in result.stderr and result.stdout == ""


def test_metrics(site: Site) -> None:
    answer = site.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert samples['trex_queue_entries{state="queued"}'] == "2"
    labels = f'{{farm="{OWNER}",worker="worker-0",host="here"}}'
    assert samples[f"trex_renders_total{labels}"] == "30"
    assert samples[f"trex_worker_memory_bytes{labels}"] == str(512 * 2**20)
    assert samples[f'trex_lost_segments_total{{farm="{OWNER}"}}'] == "2"
    assert samples["trex_renders_per_second"] == "2.5"
    names = {line.split()[2] for line in answer.text.splitlines() if line.startswith("# TYPE")}
    assert {name.partition("{")[0] for name in samples} <= names


def test_events_tell_what_changes(tmp_path: Path) -> None:
    import http.client

    runs = queued(tmp_path, "search.seed=0..1")
    with served(runs) as site:
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
        connection.request("GET", "/events")
        events = connection.getresponse()
        assert events.getheader("content-type", "").startswith("text/event-stream")
        first = json.loads(events.readline().removeprefix(b"data: "))
        assert first["counts"]["queued"] == 2 and first["running"] == []
        working(runs, time.time())
        events.readline()
        second = json.loads(events.readline().removeprefix(b"data: "))
        assert second["counts"] == {**first["counts"], "queued": 1, "running": 1}
        assert second["running"][0]["cells"][5:8] == ["0.875", "50%", "1"]
        connection.close()


def is_whole(answer: bytes) -> bool:
    head, _, body = answer.partition(b"\r\n\r\n")
    if b"chunked" in head.lower():
        return body.endswith(b"\r\n0\r\n\r\n")
    return f"content-length: {len(body)}\r".encode() in head.lower() + b"\r"


@pytest.mark.slow
def test_a_thousand_requests_at_once(runs: Path) -> None:
    """All of them open at the same time: none is refused, and none fails."""
    paths = [
        "/",
        "/metrics",
        f"/runs/{folder_of(runs, 'done')}",
        f"/runs/{folder_of(runs, 'done')}/report",
        "/none",
    ]

    async def ask(port: int, path: str) -> tuple[int, bool]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        return int(answer.split()[1]), is_whole(answer)

    async def ask_all(port: int) -> list[tuple[int, bool]]:
        return await asyncio.gather(*(ask(port, paths[i % len(paths)]) for i in range(1000)))

    allow_many_connections()
    with served(runs) as site:
        answers = asyncio.run(ask_all(site.port))
        assert site.get("/").status == 200
    assert answers == [(404 if i % 5 == 4 else 200, True) for i in range(1000)]


def same_head(site: Site, path: str, **headers: str) -> bool:
    """Whether HEAD is answered as GET is, without a body."""
    head, whole = site.get(path, "HEAD", **headers), site.get(path, **headers)
    names = ("content-type", "content-security-policy", "cache-control", "location")
    same = [head.headers.get(name) == whole.headers.get(name) for name in names]
    return head.status == whole.status and head.text == "" and all(same)


def test_head_is_answered_as_get_without_the_body(runs: Path) -> None:
    with served(runs) as site:
        for path in ("/", "/all", "/metrics", "/static/serve.css", "/none", "/runs/none"):
            assert same_head(site, path), path
        events = site.get("/events", "HEAD")
        assert events.status == 200 and events.headers["content-type"].startswith("text/event-stream")
        assert site.get("/", "HEAD").status == 200
    with served(runs, TOKEN) as site:
        assert same_head(site, "/") and same_head(site, "/", Accept="text/html")
        assert same_head(site, "/", Authorization=f"Bearer {TOKEN}")


def test_a_broken_queue_tells_the_visitor_nothing(tmp_path: Path) -> None:
    runs = queued(tmp_path, "search.seed=0..1")
    (runs / "queue.sqlite").write_text("broken " * 1000)
    with served(runs) as site:
        answer = site.get("/")
        assert answer.status == 503 and str(runs) not in answer.text
        assert "200 OK" in site.raw(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").decode()


def test_a_mistake_of_ours_tells_the_visitor_nothing_and_the_operator_one_line(
    runs: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> str:
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr(serve, "queue_page", fail)
    with served(runs) as site:
        answer = site.get("/")
        assert (answer.status, answer.text) == (500, "Internal Server Error")
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert site.get("/metrics").status == 200
    (log_record,) = (record for record in caplog.records if record.levelno >= logging.ERROR)
    assert (
        "ZeroDivisionError" in log_record.getMessage() and log_record.exc_info is None
    )  # one line on the terminal


def test_an_empty_runs_folder(tmp_path: Path) -> None:
    with served(tmp_path) as site:
        assert "Nothing was queued yet" in site.get("/").text
        assert site.get("/all").text.lower().count("nothing") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_the_command_serves_and_ends(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "trex.commands.shell.app", "queue", "serve", "--runs", str(tmp_path), "--port", "0"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={"PYTHONUNBUFFERED": "1", "PATH": "/usr/bin:/bin", "TREX_TOKEN": TOKEN},
    )  # fmt: skip
    assert process.stdout is not None
    text = process.stdout.readline()
    site = Site(int(text.split("/ (")[0].rsplit(":", 1)[1]))
    assert site.get("/").status == 401
    assert site.get("/", Authorization=f"Bearer {TOKEN}").status == 200
    process.terminate()
    out, err = process.communicate(timeout=60)
    assert TOKEN not in text + out + err


def test_in_a_browser(tmp_path: Path) -> None:
    """A person looks in with the token, sees the queue move, and opens a report."""
    runs = queued(tmp_path, "search.seed=0..2")
    finished(runs, queue.entries(runs)[0])
    with served(runs, TOKEN) as site, chromium() as browser:
        wait = WebDriverWait(browser, 30)
        open_page(browser, site.url.replace("//", f"//anyone:{TOKEN}@"))
        wait.until(lambda _: browser.find_elements(By.ID, "headline"))
        assert not browser.find_element(By.ID, "working").is_displayed()
        entry = working(runs, time.time())
        wait.until(lambda _: browser.find_element(By.ID, "working").is_displayed())
        assert "chains 6/12" in browser.find_element(By.ID, "running").text
        assert browser.find_element(By.CSS_SELECTOR, "#workers td").text == "worker-0"
        assert entry.id in browser.find_element(By.ID, "workers").text
        assert browser.find_element(By.CSS_SELECTOR, ".count[data-state=running]").text == "1"
        browser.find_element(By.LINK_TEXT, "report").click()
        wait.until(lambda _: "red things" in browser.title)
        assert browser.execute_script("return self.origin") == "null"  # type: ignore[no-untyped-call]
        assert console(browser) == []
    assert read_run_status(runs / entry.folder) is not None
    assert trex_done("queue", "list", "--runs", runs)
