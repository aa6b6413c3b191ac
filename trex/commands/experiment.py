"""Run a set of queries that have published values."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell import complete
from trex.commands.shell.options import Settings
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, note, print_result
from trex.commands.shell.trust import TrustQuery, trust_experiment

if TYPE_CHECKING:
    from trex.experiments.experiment import Outcome
    from trex.experiments.record import OutcomeRecord


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
    settings: Settings = None,
    trust: TrustQuery = False,
    dataset: Annotated[
        Path | None,
        typer.Option(help="A folder of labelled pictures on which the same queries are counted."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write to; runs/experiments/NAME if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run every query of an experiment and compare with the published values; if stopped, the same command resumes."""
    from trex.experiments.page import PAGE
    from trex.experiments.table import markdown

    if trust:
        trust_experiment(name, settings or ())
    outcome, record = run_and_write(name, tuple(cell or ()), tuple(settings or ()), out, dataset)
    page = str(outcome.folder / PAGE)
    told = {"folder": str(outcome.folder), "found": record.found, **asdict(record), "page": page}
    print_result(told, f"{markdown(outcome)}\npage: {page}", as_json)


def run_and_write(
    name: str, only: Sequence[str], overrides: Sequence[str], out: Path | None, dataset: Path | None
) -> tuple[Outcome, OutcomeRecord]:
    """Run the experiment or resume it, show the progress, and write its page, table and record."""
    from trex.experiments.experiment import run_experiment
    from trex.experiments.experiment_file import Cell
    from trex.experiments.page import write_page
    from trex.search.progress import SearchProgress

    with display_until_stopped("every draw is kept") as display:

        def on_progress(one: Cell, number: int, total: int) -> None:
            display.say(f"{number + 1} of {total}: {one.name}")

        progress = partial(SearchProgress, display)
        outcome = run_experiment(name, only, overrides, out, progress, on_progress, _train, dataset)
    return outcome, write_page(outcome, overrides)


def _train(words: str) -> None:
    """Run `trex train WORDS`: returns at once if the weights exist, and resumes from a checkpoint."""
    from trex.commands.data import train_app

    note(f"trex train {words}")
    with redirect_stdout(sys.stderr):  # standard output is reserved for the experiment's result
        typer.main.get_command(train_app).main(shlex.split(words), standalone_mode=False)


COMMAND = experiment
