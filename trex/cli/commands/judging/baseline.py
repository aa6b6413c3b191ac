"""`trex baseline`: counts a query on pictures that no search selected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.cli.command import WHY, Command
from trex.cli.options import refuse
from trex.cli.result import AsJson
from trex.foundation.errors import STOPPED

if TYPE_CHECKING:
    from trex.baseline.run import BaselineOutcome

RENDERED_ONLY = ("world", "seed", "cache")
MOST_NOTES = 20  # on the terminal; all are in baseline.json


def baseline(
    ctx: typer.Context,
    queries: Annotated[list[Path], typer.Argument(metavar="QUERY...", help="One query file, or several.")],
    dataset: Annotated[
        Path | None, typer.Option(help="A folder in CLEVR's layout: images/SPLIT/*.png, scenes/*.json.")
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
    model: Annotated[str | None, typer.Option(help="Use this model instead of the queries' own.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key of every query. Repeatable."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write to; runs/baseline-QUERY if not given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count hits and true mistakes of queries on pictures of a data set, or on rendered scenes of the prior."""
    from trex.baseline.run import BaselineOptions, make_baseline
    from trex.cli.options import overrides
    from trex.pages.display import Display

    if dataset is not None:
        refuse(
            ctx, RENDERED_ONLY, "it is of scenes that --rendered N draws, and --dataset draws none; drop it"
        )
    wanted = BaselineOptions(
        dataset, tuple(split or ()), rendered, world, seed, cache, tuple(beside or ()), all_pictures
    )
    try:
        with Display() as display:
            done = make_baseline(queries, overrides(model, settings), wanted, out, display.show)
    except KeyboardInterrupt:
        typer.echo("stopped; what is rendered is kept, the same command goes on", err=True)
        raise typer.Exit(STOPPED) from None
    _show_json(done) if as_json else _show(done)


def _show_json(done: BaselineOutcome) -> None:
    from trex.baseline.json_file import FILE, summary_json
    from trex.baseline.page import PAGE

    places = {"json": str(done.out / FILE), "page": str(done.out / PAGE)}
    typer.echo(json.dumps({**places, **summary_json(done.baselines, done.problems)}))


def _show(done: BaselineOutcome) -> None:
    from trex.baseline.page import PAGE
    from trex.baseline.words import WORLD_RULE, covered, sentences

    for problem in done.problems[:MOST_NOTES]:
        typer.echo(f"note: {problem.file}: {problem.what}", err=True)
    if len(done.problems) > MOST_NOTES:
        typer.echo(f"and {len(done.problems) - MOST_NOTES} more notes, in baseline.json", err=True)
    for one in done.baselines:
        typer.echo(f"{one.query}: {one.question} {one.target}; model {one.model}")
        typer.echo(f"  {one.source}")
        for sentence in sentences(one):
            typer.echo(f"  {sentence}")
    typer.echo(WORLD_RULE)
    if len(done.baselines) > 1:
        typer.echo(f"{covered(done.baselines)}.")
    typer.echo(f"page: {done.out / PAGE}")


COMMAND = Command("baseline", baseline, WHY, 130)
