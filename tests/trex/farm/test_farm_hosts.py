"""Two hosts, network namespaces of this machine, form one Ray cluster; their link is cut and comes back."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.running.farm_pools import add, farmed, undisturbed
from tests.running.farm_processes import WORKER, n_draws, start_work
from tests.running.runs import without_reports
from tests.running.waiting import wait_for
from trex.farm.queue import queue

pytestmark = pytest.mark.process


NAMES = {"trexhead": "10.77.0.1", "trexhost": "10.77.0.2"}
HEAD = f"{NAMES['trexhead']}:6379"
# So that a cut is noticed within seconds, not within a minute.
QUICK = {
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
}
BUDGET = ["search.prior_scenes=10", "search.chains=4", "search.steps=120"]
QUERIES = 8


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@contextmanager
def two_hosts() -> Iterator[None]:
    """Namespaces with a cable between them; skips where they cannot be made."""
    try:
        _make_hosts()
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def _make_hosts() -> None:
    ends = list(zip(NAMES.items(), ("trex0", "trex1"), strict=True))
    try:
        for name in NAMES:
            ip("netns", "add", name)
        ip(
            *[
                "link",
                "add",
                "trex0",
                "netns",
                "trexhead",
                "type",
                "veth",
                "peer",
                "name",
                "trex1",
                "netns",
                "trexhost",
            ]
        )
        for (name, address), device in ends:
            ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
            ip("-n", name, "link", "set", "lo", "up")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces cannot be made here: {error.stderr}")


@contextmanager
def ray_node(name: str, temp: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """`ray start` in a namespace, until the block ends."""
    start = [
        sys.executable,
        "-m",
        "ray.scripts.scripts",
        "start",
        "--block",
        "--disable-usage-stats",
        "--num-cpus=1",
    ]
    place = [f"--node-ip-address={NAMES[name]}", f"--temp-dir={temp}", f"--object-store-memory={80 << 20}"]
    words = ["ip", "netns", "exec", name, *start, *place, *options]
    environment = {**os.environ, **QUICK, "RAY_worker_niceness": "0"}  # and the token, as everyone
    with (temp / f"{name}.log").open("ab") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, env=environment, start_new_session=True)
    try:
        yield process
    finally:
        for what in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                os.killpg(process.pid, what)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(3.0)
        process.wait()


def workers_in(name: str) -> list[int]:
    """The worker processes in a namespace."""
    found = subprocess.run(
        ["ip", "netns", "pids", name], capture_output=True, text=True, check=True
    ).stdout.split()
    return [int(pid) for pid in found if WORKER in _command(pid)]


def _command(pid: str) -> str:
    try:
        return (Path("/proc") / pid / "cmdline").read_bytes().split(b"\0")[0].decode()
    except OSError:
        return ""


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_two_hosts_survive_a_cut_of_the_link_and_its_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    queries = [[*BUDGET, f"search.seed={seed}"] for seed in range(QUERIES)]
    with without_reports():
        whole = undisturbed(tmp_path, queries)
    entries = add(tmp_path, queries)
    runs, began = tmp_path / "runs", time.monotonic()

    def print_step(what: str) -> None:
        print(
            json.dumps({"s": round(time.monotonic() - began), "draws": n_draws(runs), "what": what}),
            flush=True,
        )

    with ExitStack() as stack:
        stack.enter_context(two_hosts())
        temp = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="trexh-", dir="/tmp", ignore_cleanup_errors=True)
            )
        )
        head = ["--head", "--port=6379", "--include-dashboard=false"]
        stack.enter_context(ray_node("trexhead", temp, *head))
        wait_for(lambda: _listens("trexhead", "6379"))
        print_step("the head is up")
        second = ExitStack()
        stack.callback(second.close)
        second.enter_context(ray_node("trexhost", temp, f"--address={HEAD}"))
        process = start_work(tmp_path, "--workers", "2", "--address", HEAD, inside="trexhead")
        stack.callback(process.kill)
        wait_for(lambda: workers_in("trexhead") and workers_in("trexhost"))
        print_step("a worker on either host")
        wait_for(
            lambda: {"worker-0-0.jsonl", "worker-1-0.jsonl"} <= {path.name for path in runs.glob("logs/*")}
        )
        print_step("both have worked")
        ip("-n", "trexhead", "link", "set", "trex0", "down")
        print_step("the link is cut")
        wait_for(lambda: "is lost" in (tmp_path / "work.log").read_text())
        print_step("the worker beyond it is given up")
        before = n_draws(runs)
        wait_for(lambda: n_draws(runs) > before)
        print_step("the other one carries on")
        ip("-n", "trexhead", "link", "set", "trex0", "up")
        second.close()
        second.enter_context(ray_node("trexhost", temp, f"--address={HEAD}"))
        print_step("the link is back, ray start was given again beyond it")
        wait_for(lambda: workers_in("trexhost") or process.poll() is not None)
        print_step(
            "a worker is back there"
            if workers_in("trexhost")
            else "the queue was done before a worker was back"
        )
        assert process.wait(timeout=1200) == 0, (tmp_path / "work.log").read_text()
        print_step("done")
    assert queue.counts(runs) == {"done": QUERIES}
    assert farmed(tmp_path, entries) == whole


def _listens(name: str, port: str) -> bool:
    listening = subprocess.run(
        ["ip", "netns", "exec", name, "ss", "-ltn"], capture_output=True, text=True, check=True
    )
    return f":{port} " in listening.stdout
