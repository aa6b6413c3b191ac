"""`trex find`, `resume`, `check` and `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trex.cli import complete
from trex.cli.command import SEARCH, Command
from trex.cli.options import ModelName, QueryFile, RunPath, Settings, overrides, refuse
from trex.cli.result import AsJson
from trex.cli.trust import Trust, trust_runs

Large = Annotated[
    bool,
    typer.Option(
        "--large/--no-large",
        help="Render the 8 most confident scenes once more, large, for the page: about 5 seconds of CPU time each.",
    ),
]


def find(
    query: QueryFile,
    out: Annotated[
        Path | None, typer.Option(help="The run folder to make; below runs/ if not given.")
    ] = None,
    model: ModelName = None,
    settings: Settings = None,
    large: Large = True,
    as_json: AsJson = False,
) -> None:
    """Search for the pictures that a query describes. Ctrl-C keeps everything; `trex resume` continues."""
    from trex.cli.search import run_find

    run_find(query, overrides(model, settings), out, as_json, large)


def resume(
    run: RunPath,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Keep the draws before the first damaged one, and repeat the rest."),
    ] = False,
    trust: Trust = False,
    large: Large = True,
    as_json: AsJson = False,
) -> None:
    """Resume a run that was stopped or killed; its draws are the same as without the interruption."""
    from trex.cli.search import run_resume

    if trust:
        trust_runs([run])
    run_resume(run, as_json, large, is_repaired=repair)


def check(
    query: QueryFile, model: ModelName = None, settings: Settings = None, as_json: AsJson = False
) -> None:
    """Check a query and report what it would do; renders and writes nothing."""
    from trex.cli.search import run_check

    run_check(query, overrides(model, settings), as_json)


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
    form: Annotated[str, typer.Option("--format", help="html, or netcdf for ArviZ InferenceData.")] = "html",
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; by default in the run folder, or comparison.html."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="A baseline of the same query, to show beside the run.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the report of a run, finished or not; or compare several runs."""
    from trex.cli.search import run_report

    if form == "netcdf":
        refuse(ctx, ["baseline"], "it is shown on the page of a run; drop it, or drop --format netcdf")
    run_report(runs, form, out, baseline, as_json)


COMMAND = (
    Command("find", find, SEARCH, 10),
    Command("resume", resume, SEARCH, 20),
    Command("check", check, SEARCH, 30),
    Command("report", report, SEARCH, 40),
)
