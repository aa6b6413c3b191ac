"""The command line: `trex find`, `check`, `resume`, `report`, `render`, `dataset`, `train`, `models`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trex.cli import complete
from trex.cli.commands.baseline import baseline
from trex.cli.commands.cache import cache_app
from trex.cli.commands.confirm import confirm
from trex.cli.commands.data import dataset_app, train_app
from trex.cli.commands.experiment import experiment
from trex.cli.commands.explain import explain
from trex.cli.commands.export import export
from trex.cli.commands.models import models_app
from trex.cli.commands.queue import queue_app
from trex.cli.commands.render import render
from trex.cli.commands.watch import serve, top
from trex.cli.commands.work import work
from trex.cli.errors import Guarded
from trex.cli.options import ModelName, QueryFile, RunPath, Settings, overrides, refuse
from trex.cli.result import AsJson
from trex.cli.trust import Trust, trust_runs

app = typer.Typer(
    cls=Guarded,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Ask a vision model about a world that can be rendered, and find the scenes that it answers so.",
)
SEARCH, WHY, MANY, PARTS = "One query", "Why, and how often", "Many queries", "Models and pictures"
Large = Annotated[
    bool,
    typer.Option(
        "--large/--no-large",
        help="Render the 8 most confident scenes once more, large, for the page: about 5 seconds of CPU time each.",
    ),
]


def _version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"trex {version('bayes-trex')}")
        raise typer.Exit


@app.callback()
def trex(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end."),
    ] = False,
) -> None:
    """Options of `trex` itself."""


@app.command(rich_help_panel=SEARCH)
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
    """Search for the scenes that a query asks for. Ctrl-C keeps everything; `trex resume` goes on."""
    from trex.cli.commands.find import run_find

    run_find(query, overrides(model, settings), out, as_json, large)


@app.command(rich_help_panel=SEARCH)
def resume(
    run: RunPath,
    repair: Annotated[
        bool,
        typer.Option(
            "--repair", help="Keep the draws before the first damaged one, and make the rest again."
        ),
    ] = False,
    trust: Trust = False,
    large: Large = True,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was stopped or killed, to the same draws as if it never had been."""
    from trex.cli.commands.find import run_resume

    if trust:
        trust_runs([run])
    run_resume(run, as_json, large, is_repaired=repair)


@app.command(rich_help_panel=SEARCH)
def check(
    query: QueryFile, model: ModelName = None, settings: Settings = None, as_json: AsJson = False
) -> None:
    """Check a query and say what it would do; nothing is rendered or written."""
    from trex.cli.commands.find import run_check

    run_check(query, overrides(model, settings), as_json)


@app.command(rich_help_panel=SEARCH)
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
        typer.Option(help="Where to write; into the run folder, or comparison.html, if not given."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(help="What `trex baseline` wrote for the same query: shown beside the run.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the report of a run, also of one that is not finished; or compare several runs."""
    from trex.cli.commands.find import run_report

    if form == "netcdf":
        refuse(ctx, ["baseline"], "it is shown on the page of a run; drop it, or drop --format netcdf")
    run_report(runs, form, out, baseline, as_json)


app.command(rich_help_panel=WHY)(explain)
app.command(rich_help_panel=WHY)(confirm)
app.command(rich_help_panel=WHY)(baseline)
app.command(rich_help_panel=WHY)(export)
app.add_typer(queue_app, name="queue", rich_help_panel=MANY)
app.command(rich_help_panel=MANY)(work)
app.command(rich_help_panel=MANY)(top)
app.command(rich_help_panel=MANY)(serve)
app.command(rich_help_panel=MANY)(experiment)
app.add_typer(models_app, name="models", rich_help_panel=PARTS)
app.add_typer(train_app, name="train", rich_help_panel=PARTS)
app.add_typer(dataset_app, name="dataset", rich_help_panel=PARTS)
app.command(rich_help_panel=PARTS)(render)
app.add_typer(cache_app, name="cache", rich_help_panel=PARTS)


if __name__ == "__main__":
    app()
