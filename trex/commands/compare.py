"""Compare runs: their outcomes side by side, and paired tests of two models on the same scenes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trex.commands.verb import Session, Verb
from trex.foundation.options import Option, Options

if TYPE_CHECKING:
    from trex.report.compare import Comparison


class CompareOptions(Options):
    """Which runs to compare, and where the page goes."""

    runs: Annotated[
        tuple[Path, ...],
        Option(
            "Two run folders or more.",
            metavar="RUN...",
            complete="runs",
            is_argument=True,
            example=("runs/first", "runs/second"),
        ),
    ]
    out: Annotated[
        Path | None, Option("The page to write; none if not given.", metavar="FILE", example="compared.html")
    ] = None


@dataclass(frozen=True)
class ComparedRuns:
    """Compared runs, and the page if one was written."""

    comparison: Comparison
    runs: tuple[Path, ...]
    page: Path | None

    def document(self) -> dict[str, object]:
        from trex.report.compare import comparison_json

        page = {"report": str(self.page)} if self.page else {}
        return {"runs": [str(run) for run in self.runs], **page, **comparison_json(self.comparison)}

    def __str__(self) -> str:
        return "\n".join([str(self.comparison), *([f"report: {self.page}"] if self.page else [])])


def compare(options: CompareOptions, session: Session) -> ComparedRuns:
    """Compare two or more runs, and test each pair that has scored the same prior scenes.

    Pairs with one question are tested on the scenes that both models have judged (McNemar's exact test); the p-values
    are corrected for all tests. With `out`, a page shows the runs side by side.
    """
    from trex.foundation.files import HTML, check_file_out
    from trex.report.compare import compare as compare_runs
    from trex.report.compare_page import write_comparison

    if options.out is not None:
        check_file_out(options.out, options.written("out", ""), HTML)
    found = compare_runs(options.runs)
    if options.out is not None:
        write_comparison(found, options.out)
    return ComparedRuns(found, options.runs, options.out)


VERB = Verb(CompareOptions, compare, kept="nothing was written", result=lambda done, _: done.comparison)
