"""Watch the queue."""

from __future__ import annotations

from typing import Annotated

import typer

from trex.commands.queue import Runs
from trex.commands.shell.result import AsJson, print_result
from trex.runs.place import RUNS


def top(
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

    if as_json:
        import time

        from trex.farm.monitor.overview import overview, overview_json

        print_result(overview_json(overview(runs, time.time(), shown)), "", as_json)
        return
    run_top(runs, shown, once=once)


COMMAND = top
