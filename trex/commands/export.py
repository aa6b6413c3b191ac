"""Write a run's hits as a data set for other tools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trex.commands.shell.result import note
from trex.commands.verb import Session, Verb
from trex.finding.options import Run
from trex.foundation.options import Option, Options
from trex.foundation.words import counted

if TYPE_CHECKING:
    from trex.export.export import ExportOutcome


class ExportOptions(Options):
    """The run, and the data set to write."""

    run: Run
    format: Annotated[
        str, Option("clevr, parquet, hf, coco, fiftyone, or an installed one.", example="coco")
    ] = "clevr"
    out: Annotated[
        Path | None, Option("A new or empty folder; RUN/export-FORMAT if not given.", example="hits-coco")
    ] = None
    edits: Annotated[
        bool | None,
        Option(
            "Include the edited scenes of `trex explain`, if there are some.",
            ("--edits/--no-edits",),
            example=False,
        ),
    ] = None


@dataclass(frozen=True)
class Exported:
    """A data set that was written, and its format."""

    done: ExportOutcome
    format: str

    def document(self) -> dict[str, object]:
        done = self.done
        return {"out": str(done.out), "scenes": done.scenes, "unanswered": done.unanswered}

    def __str__(self) -> str:
        scenes = ", ".join(counted(n, f"{split} scene") for split, n in self.done.scenes.items())
        return f"{scenes}\n{self.format}: {self.done.out}"


def export(options: ExportOptions, session: Session) -> Exported:
    """Write the hits of a run, and the edited scenes if it is explained, as a data set."""
    from trex.export.export import export as export_run

    done = export_run(options.run, options.format, options.out, options.edits)
    if done.unanswered:
        note(f"note: the question has no true answer on {done.unanswered} of the scenes")
    return Exported(done, options.format)


VERB = Verb(
    ExportOptions,
    export,
    kept="nothing was written",
    result=lambda each, _: replace(each.done, out=each.done.out.absolute()),
)
