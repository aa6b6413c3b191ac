"""Run the queue, in this process or on a farm."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

from trex.commands.queue import Runs, check_runs
from trex.commands.shell.options import refuse
from trex.commands.shell.result import AsJson, print_result
from trex.commands.shell.trust import Trust, trust_queue
from trex.foundation.errors import OURS
from trex.runs.place import RUNS


def _number(seconds: float) -> float:
    """The value as it is; BadParameter for nan, which no bound refuses."""
    if math.isnan(seconds):
        raise typer.BadParameter("nan is not a number of seconds; give 2 to 86400")
    return seconds


def work(
    ctx: typer.Context,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Number of Ray workers; by default one worker in this process.", min=1, max=100_000
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(help="A Ray cluster: auto, HOST:PORT or ray://HOST:PORT; by default this machine."),
    ] = None,
    gpus_per_worker: Annotated[
        float, typer.Option(help="Share of a GPU that each worker gets, e.g. 0.25.", min=0.0, max=64.0)
    ] = 0.0,
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="Exit when no query is queued or running.")
    ] = False,
    lease: Annotated[
        float,
        typer.Option(
            help="Seconds without renewal after which another `trex work` may claim a query.",
            min=2.0,
            max=86_400.0,
            callback=_number,
        ),
    ] = 60.0,
    ray_temp: Annotated[
        Path | None, typer.Option(help="Folder for Ray's sockets and logs; a short path on a local disk.")
    ] = None,
    runs: Runs = RUNS,
    trust: Trust = False,
    as_json: AsJson = False,
) -> None:
    """Run the queue. Ctrl-C keeps every draw and releases the queries; a kill loses nothing either.

    The exit code is 0 only if no query failed.
    """
    from trex.farm.run_work import Workforce, run_work

    if workers is None:
        why = "only Ray workers use it; add --workers N"
        refuse(ctx, ("address", "gpus_per_worker", "ray_temp"), why)
    check_runs(runs)
    if trust:
        trust_queue(runs)
    workforce = Workforce(workers, address, gpus_per_worker, ray_temp)
    ended = run_work(runs, workforce, lease, until_empty=until_empty)
    words = f"{ended.done} done, {ended.failed} failed; list them: trex queue list --runs {runs}"
    print_result({"done": ended.done, "failed": ended.failed}, words, as_json)
    if ended.failed:
        raise typer.Exit(OURS)


COMMAND = work
