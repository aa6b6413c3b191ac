"""`experiment` and `paper`: queries with published values, run and compared with the publications."""

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

from reproduce.commands.progress import display_until_stopped
from trex.commands.shell.result import AsJson, note, print_result
from trex.foundation.errors import InputError

if TYPE_CHECKING:
    from reproduce.experiments.experiment import Outcome
    from reproduce.experiments.record import OutcomeRecord
    from reproduce.paper.paper_file import Item

OUTPUTS = Path("runs/experiments")


def experiment(
    name: Annotated[str, typer.Argument(help="One of reproduce/queries, or a path that ends in .toml.")],
    cell: Annotated[
        list[str] | None, typer.Option("--cell", help="Only this cell, e.g. 1-7. Repeatable.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override a key. Repeatable.")
    ] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Trust the code that the queries name.")] = False,
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
    from reproduce.experiments.page import PAGE
    from reproduce.experiments.table import markdown

    if trust:
        _trust(name, settings or ())
    outcome, record = _run_and_write(name, tuple(cell or ()), tuple(settings or ()), out, dataset)
    page = str(outcome.folder / PAGE)
    document = {"folder": str(outcome.folder), "found": record.found, **asdict(record), "page": page}
    print_result(document, f"{markdown(outcome)}\npage: {page}", as_json)


def paper(
    outputs: Annotated[
        Path, typer.Option(help="The folder that holds a folder for each experiment.")
    ] = OUTPUTS,
    out: Annotated[Path | None, typer.Option(help="The page; OUTPUTS/PAPER.md if not given.")] = None,
    run: Annotated[
        bool,
        typer.Option(
            "--run", help="First run what is missing: hours to days. If stopped, the same command resumes."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Compare every table and figure of the publication with the experiments' records."""
    from reproduce.paper.paper import compare_all, markdown, summary
    from reproduce.paper.paper_file import read_paper
    from trex.foundation.files import check_file_out, make_folder, write_atomic

    if out is None and not run and outputs != OUTPUTS and not outputs.is_dir():  # it would be created
        raise InputError(
            f"--outputs {outputs} is not a folder; give the one that holds the experiments' folders, or add --run"
        )
    place = out if out is not None else outputs / "PAPER.md"
    make_folder(place.parent)
    check_file_out(place, "--out", b"#")
    listed = read_paper()
    rows = compare_all(listed, outputs, _carry_out if run else None)
    words = ["python", "-m", "reproduce", "paper", "--outputs", str(outputs), "--out", str(place)]
    write_atomic(place, markdown(listed, rows, shlex.join(words), place).encode())
    found = [{**asdict(row), "item": row.item.item, "what": row.item.what} for row in rows]
    print_result({"page": str(place), "items": found}, f"{summary(rows)}\npage: {place}", as_json)


def _carry_out(item: Item, folder: Path) -> None:
    _run_and_write(item.experiment, (), item.set, folder, None)


def _run_and_write(
    name: str, only: Sequence[str], overrides: Sequence[str], out: Path | None, dataset: Path | None
) -> tuple[Outcome, OutcomeRecord]:
    """Run the experiment or resume it, show the progress, and write its page, table and record."""
    from reproduce.adaptation.train import offer_weights
    from reproduce.experiments.experiment import run_experiment
    from reproduce.experiments.experiment_file import Cell
    from reproduce.experiments.page import write_page
    from trex.search.progress import SearchProgress

    offer_weights()
    with display_until_stopped("every draw is kept") as display:

        def on_progress(cell: Cell, number: int, total: int) -> None:
            display.say(f"{number + 1} of {total}: {cell.name}")

        progress = partial(SearchProgress, display)
        outcome = run_experiment(name, only, overrides, out, progress, on_progress, _train, dataset)
    return outcome, write_page(outcome, overrides)


def _train(words: str) -> None:
    """Train a model by the words of an experiment: returns at once if it exists, and resumes from a checkpoint."""
    from reproduce.commands.adaptation import ADDA
    from trex.commands.training import TRAIN

    kind, *options = shlex.split(words)
    app, given = (typer.Typer(), options) if kind == "adda" else (TRAIN, [kind, *options])
    if kind == "adda":
        app.command()(ADDA)
    note(f"{'python -m reproduce' if kind == 'adda' else 'trex models train'} {words}")
    with redirect_stdout(sys.stderr):  # standard output is reserved for the experiment's result
        typer.main.get_command(app).main(given, standalone_mode=False)


def _trust(name: str, settings: Sequence[str]) -> None:
    """Record that the code named by an experiment, or by its query, may run."""
    from reproduce.experiments.experiment_file import cells, experiment_path, read_experiment
    from trex.query.toml_file import parse_query, read_text
    from trex.runs.trust import trust_query

    path = experiment_path(name)
    read = read_experiment(path)
    query = path.parent / read.query
    text = read_text(query)
    ways = [way for cell in cells(read) for way in cell.ways]
    trust_query(query, [parse_query(text, str(query), [*way, *settings]) for way in ways], settings)
