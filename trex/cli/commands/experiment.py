"""`trex experiment`: a set of queries with the values that were published for them."""

from __future__ import annotations

import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from trex.cli import complete
from trex.cli.command import MANY, Command
from trex.cli.result import AsJson, tell_result
from trex.foundation.errors import STOPPED


def experiment(
    name: Annotated[
        str,
        typer.Argument(
            help="One of queries/experiments, an installed one, or a path that ends in .toml.",
            autocompletion=complete.experiments,
        ),
    ],
    cell: Annotated[
        list[str] | None, typer.Option("--cell", help="Only this cell, e.g. 1-7. Repeatable.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of every query. Repeatable."),
    ] = None,
    dataset: Annotated[
        Path | None,
        typer.Option(help="A folder of labelled pictures: the same queries put to them stand beside."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write to; runs/experiments/NAME if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run every query of an experiment, and put the published values beside; stopped, the same command goes on."""
    from trex.experiments.experiment import run_experiment
    from trex.experiments.experiment_file import Cell
    from trex.experiments.page import PAGE, write_page
    from trex.experiments.table import markdown, table_json
    from trex.pages.display import Display
    from trex.search.progress import SearchProgress

    given = tuple(settings or ())
    try:
        with Display() as display:
            name_of: list[str] = [""]  # the cell at work

            def tell(one: Cell, number: int, total: int) -> None:
                name_of[0] = one.name
                display.say(f"{number + 1} of {total}: {one.name}")

            def progress() -> SearchProgress:
                return SearchProgress(display, name_of[0])

            outcome = run_experiment(name, tuple(cell or ()), given, out, progress, tell, _train, dataset)
    except KeyboardInterrupt:
        typer.echo("stopped; every draw is kept, the same command goes on", err=True)
        raise typer.Exit(STOPPED) from None
    write_page(outcome, given)
    page = str(outcome.folder / PAGE)
    tell_result({**table_json(outcome), "page": page}, f"{markdown(outcome)}\npage: {page}", as_json)


def _train(words: str) -> None:
    """`trex train WORDS`: at once where the weights are there already, from its checkpoint where it was stopped."""
    from trex.cli.commands.data import train_app

    typer.echo(f"trex train {words}", err=True)
    with redirect_stdout(sys.stderr):  # the result is the experiment's
        typer.main.get_command(train_app).main(shlex.split(words), standalone_mode=False)


COMMAND = Command("experiment", experiment, MANY, 250)
