"""Count hits and true mistakes of queries on pictures that no search selected."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell.options import ModelName, Settings, overrides, refuse
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, note, print_result
from trex.commands.shell.trust import TrustQuery, trust_queries
from trex.query.shipped import query_path

if TYPE_CHECKING:
    from trex.datasets.examples import Problem
    from trex.trials.baseline.files import StoredBaseline

RENDERED_ONLY = ("world", "seed", "cache")
MAX_NOTES = 20  # on the terminal; all are in baseline.json


def baseline(
    ctx: typer.Context,
    queries: Annotated[
        list[Path], typer.Argument(metavar="QUERY...", help="One query file or shipped query, or several.")
    ],
    dataset: Annotated[
        Path | None,
        typer.Option(help="A folder in CLEVR's layout, or the public generator's: images/, scenes/."),
    ] = None,
    split: Annotated[
        list[str] | None, typer.Option(help="Only this split of --dataset, e.g. val. Repeatable.")
    ] = None,
    rendered: Annotated[
        int | None, typer.Option(help="Render this many scenes of the prior instead.")
    ] = None,
    world: Annotated[
        str, typer.Option(help="The scenes of --rendered: query (its own world) or clevr (as a test set's).")
    ] = "query",
    seed: Annotated[int, typer.Option(help="The seed of --rendered.")] = 0,
    cache: Annotated[
        Path | None, typer.Option(help="The folder for rendered pictures; by default the user's cache.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(metavar="RUN", help="A run of the same query to compare with. Repeatable."),
    ] = None,
    all_pictures: Annotated[
        bool, typer.Option("--all-pictures", help="Show every picture on the page, not only hits.")
    ] = False,
    model: ModelName = None,
    settings: Settings = None,
    trust: TrustQuery = False,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write to; runs/baseline-QUERY if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count hits and true mistakes of queries on pictures of a data set, or on rendered scenes of the prior."""
    from trex.trials.baseline.files import FILE, summary_json
    from trex.trials.baseline.page import PAGE
    from trex.trials.baseline.run import BaselineOptions, make_baseline

    if dataset is not None:
        refuse(
            ctx, RENDERED_ONLY, "it applies to the scenes of --rendered N, and --dataset draws none; drop it"
        )
    options = BaselineOptions(
        dataset, tuple(split or ()), rendered, world, seed, cache, tuple(beside or ()), all_pictures
    )
    changes = overrides(model, settings)
    if trust:
        trust_queries(map(query_path, queries), changes)
    with display_until_stopped("every picture that was rendered is kept") as display:
        done = make_baseline(queries, changes, options, out, display.show)
    if not as_json:
        _note(done.problems)
    places = {"json": str(done.folder / FILE), "page": str(done.folder / PAGE)}
    print_result({**places, **summary_json(done.baselines, done.problems)}, _text(done), as_json)


def _note(problems: Sequence[Problem]) -> None:
    for problem in problems[:MAX_NOTES]:
        note(f"note: {problem.file}: {problem.what}")
    if len(problems) > MAX_NOTES:
        note(f"and {len(problems) - MAX_NOTES} more notes, in baseline.json")


def _text(done: StoredBaseline) -> str:
    from trex.trials.baseline.page import PAGE, WORLD_RULE, covered, sentences

    lines = []
    for baseline in done.baselines:
        lines += [
            f"{baseline.query}: {baseline.question} {baseline.target}; model {baseline.model}",
            f"  {baseline.source}",
        ]
        lines += [f"  {sentence}" for sentence in sentences(baseline)]
    lines.append(WORLD_RULE)
    if len(done.baselines) > 1:
        lines.append(f"{covered(done.baselines)}.")
    return "\n".join([*lines, f"page: {done.folder / PAGE}"])


COMMAND = baseline
