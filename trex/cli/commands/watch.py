"""`trex top` and `trex serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from trex.cli.command import MANY, Command
from trex.cli.commands.queue import RUNS, Runs
from trex.cli.result import AsJson, tell_result
from trex.foundation.errors import InputError


def top(
    once: Annotated[bool, typer.Option("--once", help="Print the table once and end.")] = False,
    shown: Annotated[
        int, typer.Option("--rows", help="Number of queued and of ended entries to show.", min=0)
    ] = 10,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Watch the queue: running entries, confidence, speed, time left. Ctrl-C ends only the display."""
    from trex.monitor.top import run_top

    if as_json:
        import time

        from trex.monitor.overview import overview, overview_json

        tell_result(overview_json(overview(runs, time.time(), shown)), "", as_json)
        return
    run_top(runs, shown, once=once)


def serve(
    host: Annotated[str, typer.Option(help="IP address; any but loopback needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes any free one.")] = 8321,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="TREX_TOKEN", help="Required of visitors; safer in TREX_TOKEN than on the command line."
        ),
    ] = None,
    runs: Runs = RUNS,
) -> None:
    """Serve read-only pages: the queue, live runs, finished reports, and counters at /metrics."""
    from trex.monitor import serve as serving

    serving.check_installed()
    address = serving.check_address(host, port, token or None)
    if not runs.is_dir():
        raise InputError(f"{runs} is no folder; queue something first, or give the runs folder with --runs")
    with serving.listen(address, port) as listening:
        bound, *_ = listening.getsockname()[1:]
        shown = f"[{address}]" if ":" in address else address
        typer.echo(f"serving {runs} at http://{shown}:{bound}/ (Ctrl-C ends)")
        serving.serve(runs, listening, token or None)


COMMAND = (
    Command("top", top, MANY, 230),
    Command("serve", serve, MANY, 240),
)
