"""The options of the verbs on one query and its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from trex.foundation.options import Option, Options
from trex.query.verb_options import DEVICE_WORDS, LOOKS, Junit, ModelChanges, TrustRun
from trex.trials.options import Top

Query = Annotated[
    Path | None,
    Option(
        "A TOML file, or the name of a shipped query such as demo.",
        metavar="QUERY",
        complete="queries",
        is_argument=True,
        example="demo",
    ),
]
RUN = Option(
    "A run folder, which `trex find` prints first.",
    metavar="RUN",
    complete="runs",
    is_argument=True,
    example="runs/first",
)
Run = Annotated[Path, RUN]


class ResultOptions(Options):
    """What follows from the results of a run: verdicts, and a log."""

    fail_if: Annotated[
        tuple[str, ...],
        Option(
            'found, or "rate > 0.01": exit 3 if it holds, 4 if that is undecided. Repeatable.',
            metavar="CONDITION",
            example="found",
        ),
    ] = ()
    junit: Junit = None
    log: Annotated[
        tuple[str, ...],
        Option(
            "Log the run with mlflow or wandb, or an installed one. Repeatable.",
            metavar="TRACKER",
            example="mlflow",
        ),
    ] = ()


class SearchOptions(ResultOptions):
    """What a search also does."""

    explain: Annotated[
        bool,
        Option(
            "Ask the model what it misreads in the found scenes; render the 8 most confident ones without each object, "
            "under other noise and from other viewpoints: about 20 pictures per scene.",
            ("--explain/--no-explain",),
        ),
    ] = True
    large: Annotated[
        bool,
        Option(
            "Render the 8 most confident scenes again, large, for the page: about 5 seconds of CPU time each.",
            ("--large/--no-large",),
        ),
    ] = True


class FindOptions(SearchOptions, ModelChanges):
    """Which query to run, and where."""

    query: Query = None
    out: Annotated[
        Path | None,
        Option("The run folder to create; by default a new one below runs/.", example="runs/first"),
    ] = None


class ResumeOptions(SearchOptions):
    """Which run to resume."""

    run: Run
    repair: Annotated[
        bool, Option("Keep the draws before the first damaged one and repeat the rest.", ("--repair",))
    ] = False
    trust: TrustRun = False


class CheckOptions(ModelChanges):
    """Which query to check, or which question to read."""

    query: Annotated[
        Path | None,
        Option(
            "A TOML file, the name of a shipped query, or a question in quotes.",
            metavar="QUERY",
            complete="queries",
            is_argument=True,
            example="demo",
        ),
    ] = None


class ReportOptions(ResultOptions):
    """Which runs to report on, and in which form."""

    runs: Annotated[
        tuple[Path, ...],
        Option(
            "A run folder; several are compared on one page.",
            metavar="RUN...",
            complete="runs",
            is_argument=True,
        ),
    ]
    format: Annotated[str, Option("html, or netcdf for ArviZ (extra arviz).")] = "html"
    out: Annotated[
        Path | None, Option("The file to write; by default in the run folder, or comparison.html.")
    ] = None
    baseline: Annotated[Path | None, Option("A baseline of the same query, to show with the run.")] = None
    confirm: Annotated[
        str | None,
        Option(f"First render the hits again at this preset: {LOOKS}.", metavar="PRESET"),
    ] = None
    top: Top = 20
    device: Annotated[str, Option(f"Of --confirm: {DEVICE_WORDS}.")] = "auto"
    trust: TrustRun = False
