"""Serve read-only pages of the queue and its runs."""

from __future__ import annotations

from typing import Annotated

import typer

from trex.commands.queue import Runs, check_runs
from trex.commands.shell.result import print_text
from trex.runs.place import RUNS


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


COMMAND = serve
