"""`trex experiment`: a set of queries with the values that were published for them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from harness.cli_errors import STOPPED


def experiment(
    name: Annotated[str, typer.Argument(help="One of queries/experiments, or a path that ends in .toml.")],
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
) -> None:
    """Run every query of an experiment, and put the published values beside; stopped, the same command goes on."""
    from harness.experiment import run_experiment
    from harness.experiment_page import PAGE, write_page
    from harness.experiment_table import markdown
    from harness.progress import Silent

    given = tuple(settings or ())
    try:
        outcome = run_experiment(
            name, tuple(cell or ()), given, out, Silent,
            lambda one, number, total: typer.echo(f"{number + 1} of {total}: {one.name}", err=True), _train, dataset,
        )  # fmt: skip
    except KeyboardInterrupt:
        typer.echo("stopped; every draw is kept, the same command goes on", err=True)
        raise typer.Exit(STOPPED) from None
    write_page(outcome, given)
    typer.echo(markdown(outcome))
    typer.echo(f"page: {outcome.folder / PAGE}")


def _train(words: str) -> None:
    """`trex train WORDS`: at once where the weights are there already, from its checkpoint where it was stopped."""
    from harness.cli_data import train_app

    typer.echo(f"trex train {words}", err=True)
    typer.main.get_command(train_app).main(shlex.split(words), standalone_mode=False)
