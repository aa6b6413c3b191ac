"""`trex queue run`, `watch` and `serve`: work on the queue, and read-only views of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trex.commands.shell.result import AsJson, Printed, print_result, print_text
from trex.commands.shell.trust import trust_queue
from trex.commands.verb import Session
from trex.foundation.errors import OURS, InputError
from trex.foundation.options import Option
from trex.foundation.words import quoted
from trex.query.verb_options import TrustRun
from trex.runs.place import RUNS

Runs = Annotated[Path, typer.Option("--runs", help="The folder of the queue and its runs.")]


def check_runs(runs: Path) -> None:
    """InputError unless the folder of runs is there."""
    if not runs.is_dir():
        raise InputError(f"{runs} is not a folder; queue a query first, or give the runs folder with --runs")


def run(
    session: Session,
    workers: Annotated[
        int | None,
        Option("Number of Ray workers; by default one worker in this process.", low=1, high=100_000),
    ] = None,
    address: Annotated[
        str | None, Option("A Ray cluster: auto, HOST:PORT or ray://HOST:PORT; by default this machine.")
    ] = None,
    gpus_per_worker: Annotated[
        float, Option("Share of a GPU that each worker gets, e.g. 0.25.", low=0, high=64)
    ] = 0.0,
    until_empty: Annotated[
        bool, Option("Exit when no query is queued or running.", ("--until-empty",))
    ] = False,
    lease: Annotated[
        float,
        Option(
            "Seconds without renewal after which another `trex queue run` may claim a query.",
            low=2,
            high=86_400,
        ),
    ] = 60.0,
    ray_temp: Annotated[
        Path | None, Option("Folder for Ray's sockets and logs; a short path on a local disk.")
    ] = None,
    runs: Annotated[Path, Option("The folder of the queue and its runs.")] = RUNS,
    trust: TrustRun = False,
) -> Printed:
    """Run queued queries. Safe to stop at any time.

    The exit code is 0 only if no query failed.
    """
    from trex.farm.work import make_pool, run_work

    if workers is None:
        why = "only Ray workers use it; add --workers N"
        session.options.refuse(("address", "gpus_per_worker", "ray_temp"), why)
    check_runs(runs)
    if trust:
        trust_queue(runs)
    pool = make_pool(runs, workers, address, gpus_per_worker, ray_temp)
    ended = run_work(runs, pool, session.display, lease, until_empty=until_empty)
    words = f"{ended.done} done, {ended.failed} failed; list them: trex queue list --runs {quoted(runs)}"
    return Printed({"done": ended.done, "failed": ended.failed}, words, code=OURS if ended.failed else 0)


def watch(
    once: Annotated[bool, typer.Option("--once", help="Print the table once and exit.")] = False,
    shown: Annotated[
        int,
        typer.Option("--rows", help="Number of queued and of ended entries to show.", min=0, max=1_000_000),
    ] = 10,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Watch the queue: running entries, confidence, speed, time left. Ctrl-C stops only the display."""
    from trex.farm.monitor.top import run_top

    check_runs(runs)
    if as_json:
        import time

        from trex.farm.monitor.overview import overview, overview_json

        print_result(overview_json(overview(runs, time.time(), shown)), "", as_json)
        return
    run_top(runs, shown, once=once)


def serve(
    host: Annotated[str, typer.Option(help="IP address; any except loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 for any free one.")] = 8321,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="TREX_TOKEN", help="Required from clients; safer in TREX_TOKEN than on the command line."
        ),
    ] = None,
    runs: Runs = RUNS,
) -> None:
    """Serve read-only pages: the queue, live runs, finished reports, and counters at /metrics."""
    from trex.pages.address import check_address, check_installed, listen

    check_installed()
    address = check_address(host, port, token or None)
    check_runs(runs)
    from trex.farm.monitor.serve import make_app
    from trex.pages.web import run_app

    with listen(address, port) as listening:
        bound, *_ = listening.getsockname()[1:]
        shown = f"[{address}]" if ":" in address else address
        print_text(f"serving {runs} at http://{shown}:{bound}/ (Ctrl-C to stop)")
        run_app(make_app(runs, token or None, address), listening)
