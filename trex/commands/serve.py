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
    from trex.monitor import serve as serving

    serving.check_installed()
    address = serving.check_address(host, port, token or None)
    check_runs(runs)
    with serving.listen(address, port) as listening:
        bound, *_ = listening.getsockname()[1:]
        shown = f"[{address}]" if ":" in address else address
        print_text(f"serving {runs} at http://{shown}:{bound}/ (Ctrl-C to stop)")
        serving.serve(runs, listening, token or None)


COMMAND = serve
