"""A key in the environment is in no file, page, log, error or process list, whatever the command."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.clevr_models.chat.test_chat_search import SERVED, red_things
from tests.running.command_line import trex, whole
from tests.running.runs import write_query
from tests.serving.chat_server import ChatServer, Fault, chat_server
from trex.clevr_models.chat.endpoint import BASE_URL, KEY

SERVE = ("queue", "serve")
# Of this process alone: another that runs the same tests has its own in its list of processes.
SECRET = f"sk-planted-{os.getpid()}-in-the-environment"
# Every command with a served model where it takes one; `{}` are folders. Some end in an error, which may not say the
# key either.
CALLS = """
check {tmp}/query.toml --endpoint {url}
find {tmp}/query.toml --endpoint {url} --out {tmp}/run --no-large
resume {tmp}/run
report {tmp}/run
explain {tmp}/run --top 1 --no-saliency --nuisances 1
curve {tmp}/run --over noise --object 0 --scenes 1
export {tmp}/run --format clevr
export {tmp}/run --format coco
export {tmp}/run --format fiftyone
export {tmp}/run --format hf
export {tmp}/run --format parquet
report {tmp}/run --format netcdf --out {tmp}/draws.nc
report {tmp}/run --fail-if found --junit {tmp}/junit.xml
report {tmp}/run --confirm draft
suite add {tmp}/run --to {tmp}/suite
suite run {tmp}/suite --model openai:planted --endpoint {url} --max-requests 9999
baseline {tmp}/query.toml --rendered 3 --out {tmp}/baseline
label {tmp}/baseline --export {tmp}/mark.html
queue add {tmp}/query.toml --set search.seed=5
queue list
queue run --until-empty
audit openai:planted --endpoint {url} --max-requests 9999 --out {tmp}/audit --world 9
repair identify {tmp}/query.toml --out {tmp}/repair
repair report {tmp}/repair
models list
models verify openai:planted --dataset {tmp}
models train classifier --dataset nothing
render scenes {tmp}/query.toml --out {tmp}/pictures
render dataset --out {tmp}/data --objects x
cache banks
cache
init {tmp}/begun
queue watch --once --runs {tmp}/runs
doctor
"""


@contextmanager
def process_list() -> Iterator[set[bytes]]:
    """The command lines of all processes that ran meanwhile, looked at over and over."""
    seen: set[bytes] = set()
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(0.02):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    seen.add(path.read_bytes())
                except OSError:  # it has ended
                    continue

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        is_over.set()
        watcher.join()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ChatServer]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TREX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(KEY, SECRET)
    monkeypatch.chdir(tmp_path)
    with chat_server(red_things) as running:
        monkeypatch.setenv(BASE_URL, running.url)
        yield running


def calls(tmp_path: Path, url: str) -> list[list[str]]:
    return [line.format(tmp=tmp_path, url=url).split() for line in CALLS.split("\n") if line]


def test_every_command_is_called(tmp_path: Path) -> None:
    known = set(whole().commands)
    assert {words[0] for words in calls(tmp_path, "")} == known


def served(runs: Path) -> str:
    """What `trex queue serve`, which does not end, has printed when it is told to end, once it has said its address."""
    words = [sys.executable, "-m", "trex", *SERVE, "--port", "0", "--runs", str(runs)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if "http://" in line:
                break
        process.terminate()
        return "".join(lines) + process.communicate(timeout=60.0)[0]


@pytest.mark.blender
@pytest.mark.process
@pytest.mark.slow
def test_the_key_is_nowhere_after_every_command(
    server: ChatServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    write_query(tmp_path, SERVED)
    texts: dict[str, str] = {}
    ended: dict[str, int] = {}
    with process_list() as processes:
        for words in calls(tmp_path, server.url):
            result = trex(*words)
            texts[" ".join(words)] = result.output + repr(result.exception)
            ended[" ".join(words[:2])] = result.exit_code
        texts["served"] = served(tmp_path / "runs")
        server.faults[:] = [Fault(500, SECRET.encode())] * 9  # a server that tells it back
        texts["told back"] = trex(
            "find", "query.toml", "--set", "search.seed=9", "--out", tmp_path / "other"
        ).output
    assert server.keys == {f"Bearer {SECRET}"}
    assert [line for line, text in texts.items() if SECRET in text] == []
    assert "http://127.0.0.1" in texts["served"]
    assert SECRET not in "".join(capfd.readouterr())
    assert not any(SECRET.encode() in line for line in processes) and len(processes) > 1
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == [] and len(files) > 50
    for line in ("find", "explain", "report", "suite add", "baseline", "queue add"):
        assert [code for name, code in ended.items() if name.startswith(line)] == [0], (line, texts)


def test_a_key_in_a_file_or_a_process_list_is_seen(tmp_path: Path) -> None:
    """Planted: what the test above looks for."""
    with process_list() as processes:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(0.3)", SECRET], check=True)
    assert any(SECRET.encode() in line for line in processes)
