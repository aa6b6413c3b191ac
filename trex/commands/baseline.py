"""Count hits and true mistakes of queries on pictures that no search selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trex.commands.verb import Session, Verb
from trex.foundation.files import from_here
from trex.foundation.options import Option
from trex.query.shipped import query_path
from trex.query.verb_options import QueryChanges
from trex.trials.options import BaselineOptions

if TYPE_CHECKING:
    from trex.trials.baseline.baseline import Baseline
    from trex.trials.baseline.files import StoredBaseline

MAX_NOTES = 20  # on the terminal; all are in baseline.json


class BaselineCommand(BaselineOptions, QueryChanges):
    """The options of `trex baseline`."""

    queries: Annotated[
        tuple[Path, ...],
        Option(
            "One query file or shipped query, or several.",
            metavar="QUERY...",
            is_argument=True,
            example="demo",
        ),
    ]
    out: Annotated[
        Path | None,
        Option("The folder to write to; runs/baseline-QUERY if not given.", example="runs/baseline-mine"),
    ] = None


@dataclass(frozen=True, repr=False)
class CountedQueries:
    """The baselines of the queries, and where they are stored."""

    done: StoredBaseline

    @property
    def path(self) -> Path:
        """The folder with the page and all rows."""
        return self.done.folder

    @property
    def baselines(self) -> tuple[Baseline, ...]:
        """The baseline of each query: `hits`, `mistakes`, `accuracy` and their intervals, and each picture `seen`."""
        return self.done.baselines

    def __repr__(self) -> str:
        rates = "; ".join(f"{each.query}: hits {each.hits.figure}" for each in self.baselines)
        return f"<Baseline {from_here(self.path)}: {rates}; print it for all>"

    def document(self) -> object:
        from trex.trials.baseline.files import FILE, summary_json
        from trex.trials.baseline.page import PAGE

        places = {"json": str(self.done.folder / FILE), "page": str(self.done.folder / PAGE)}
        return {**places, **summary_json(self.done.baselines, self.done.problems)}

    def __str__(self) -> str:
        from trex.trials.baseline.page import PAGE, WORLD_RULE, covered, sentences

        lines = []
        for baseline in self.done.baselines:
            lines += [
                f"{baseline.query}: {baseline.question} Hit: {baseline.wanted}; model {baseline.model}",
                f"  {baseline.source}",
            ]
            lines += [f"  {sentence}" for sentence in sentences(baseline)]
        lines.append(WORLD_RULE)
        if len(self.done.baselines) > 1:
            lines.append(f"{covered(self.done.baselines)}.")
        return "\n".join([*lines, f"page: {self.done.folder / PAGE}"])

    def notes(self) -> Sequence[str]:
        """The first problems of the data, and how many more there are."""
        problems = self.done.problems
        lines = [f"note: {problem.file}: {problem.what}" for problem in problems[:MAX_NOTES]]
        more = len(problems) - MAX_NOTES
        return [*lines, f"and {more} more notes, in baseline.json"] if more > 0 else lines


def baseline(options: BaselineCommand, session: Session) -> CountedQueries:
    """Count hits and true mistakes of queries on pictures of a data set, or on rendered scenes of the prior."""
    from trex.commands.shell.trust import trust_queries
    from trex.trials.baseline.run import make_baseline

    if options.trust:
        trust_queries(map(query_path, options.queries), options.changes)
    return CountedQueries(
        make_baseline(options.queries, options.changes, options, options.out, session.display.show)
    )


VERB = Verb(
    BaselineCommand,
    baseline,
    kept="every picture that was rendered is kept",
    notes=lambda counted: counted.notes(),
    result=lambda counted, _: CountedQueries(replace(counted.done, folder=counted.path.absolute())),
)
