"""Show every table and figure of the publication beside what is found here."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell.result import AsJson, print_result
from trex.runs.place import RUNS

if TYPE_CHECKING:
    from trex.experiments.paper.paper_file import Item

OUTPUTS = RUNS / "experiments"


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
    from trex.experiments.paper.paper import compare_all, markdown, summary
    from trex.experiments.paper.paper_file import read_paper
    from trex.foundation.errors import InputError
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
    words = ["trex", "paper", "--outputs", str(outputs), "--out", str(place)]
    write_atomic(place, markdown(listed, rows, shlex.join(words), place).encode())
    found = [{**asdict(row), "item": row.item.item, "what": row.item.what} for row in rows]
    print_result({"page": str(place), "items": found}, f"{summary(rows)}\npage: {place}", as_json)


def _carry_out(item: Item, folder: Path) -> None:
    from trex.commands.experiment import run_and_write

    run_and_write(item.experiment, (), item.set, folder, None)


COMMAND = paper
