"""Write the report of a run, finished or not; or compare several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trex.commands.shell import complete
from trex.commands.shell.options import Log, refuse
from trex.commands.shell.result import AsJson
from trex.commands.shell.verdicts import Conditions, Junit, make_gate


def report(
    ctx: typer.Context,
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="A run folder; several are compared on one page.",
            autocompletion=complete.runs,
        ),
    ],
    form: Annotated[str, typer.Option("--format", help="html, or netcdf for ArviZ (extra arviz).")] = "html",
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; by default in the run folder, or comparison.html."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="A baseline of the same query, to show with the run.")
    ] = None,
    fail_if: Conditions = None,
    junit: Junit = None,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Write the report of a run, finished or not; or compare several runs."""
    from trex.commands.shell.search import ReportRequest, run_report, trackers

    if form == "netcdf":
        refuse(ctx, ["baseline"], "only the page of a run shows it; drop it or --format netcdf")
    run_report(runs, ReportRequest(form, out, baseline, make_gate(fail_if, junit), trackers(log)), as_json)


COMMAND = report
