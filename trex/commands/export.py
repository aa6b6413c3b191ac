"""Write a run's hits as a data set for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trex.commands.shell.options import RunPath
from trex.commands.shell.result import AsJson, note, print_result
from trex.foundation.words import counted


def export(
    run: RunPath,
    form: Annotated[
        str, typer.Option("--format", help="clevr, parquet, hf, coco, fiftyone, or an installed one.")
    ] = "clevr",
    out: Annotated[
        Path | None, typer.Option(help="A new or empty folder; RUN/export-FORMAT if not given.")
    ] = None,
    edits: Annotated[
        bool | None,
        typer.Option(
            "--edits/--no-edits", help="Include the edited scenes of `trex explain`, if there are some."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the hits of a run, and the edited scenes if it is explained, as a data set."""
    from trex.export.export import export as export_run

    done = export_run(run, form, out, edits)
    if done.unanswered:
        note(f"note: the question has no true answer on {done.unanswered} of the scenes")
    scenes = ", ".join(counted(n, f"{split} scene") for split, n in done.scenes.items())
    document = {"out": str(done.out), "scenes": done.scenes, "unanswered": done.unanswered}
    print_result(document, f"{scenes}\n{form}: {done.out}", as_json)


COMMAND = export
