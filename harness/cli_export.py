"""`trex export`: a run's scenes as a data set for other tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, as `trex find` names it first.")],
    form: Annotated[str, typer.Option("--format", help="clevr, parquet or coco.")] = "clevr",
    out: Annotated[
        Path | None, typer.Option(help="A new or empty folder; RUN/export-FORMAT if not given.")
    ] = None,
    edits: Annotated[
        bool | None,
        typer.Option(
            "--edits/--no-edits", help="The edited scenes of `trex explain` too; where there are some."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")] = False,
) -> None:
    """Write the found scenes of a run, and the edited ones where it is explained, as a data set."""
    from harness.export import export as export_run

    done = export_run(run, form, out, edits)
    if as_json:
        typer.echo(json.dumps({"out": str(done.out), "scenes": done.scenes, "unanswered": done.unanswered}))
        return
    if done.unanswered:
        typer.echo(f"note: the question has no true answer on {done.unanswered} of the scenes", err=True)
    typer.echo(", ".join(f"{n} {split} scenes" for split, n in done.scenes.items()))
    typer.echo(f"{form}: {done.out}")
