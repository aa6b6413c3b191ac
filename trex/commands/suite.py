"""Keep failures with their pictures, and ask other models about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.commands.shell import complete
from trex.commands.shell.options import (
    Endpoint,
    MaxRequests,
    Processes,
    TrustRemoteCode,
    model_options,
    refuse,
)
from trex.commands.shell.progress import display_until_stopped
from trex.commands.shell.result import AsJson, print_result
from trex.foundation.errors import FAILED
from trex.foundation.words import counted
from trex.query.verb_options import DEVICE_WORDS

if TYPE_CHECKING:
    from trex.clevr_models.interface.options import ModelOptions
    from trex.suite.add import AddedBatch
    from trex.trials.suite.look import SuiteLook
    from trex.trials.suite.rendered import Rendering
    from trex.trials.suite.run import SuiteRun

suite_app = typer.Typer(
    no_args_is_help=True, help="Keep failures with their pictures, and ask other models about them."
)


@suite_app.command()
def add(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Folders, as `trex find` or `trex audit` makes them.",
            autocompletion=complete.runs,
        ),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="The suite's folder; made if it is new.")],
    confirmed: Annotated[
        bool,
        typer.Option("--confirmed", help="Keep only hits that `trex confirm` has shown to be still wrong."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Keep the hits on which the model's answer is wrong; adding a run again adds nothing.

    A hit that is right at a preset of `trex confirm` is left out. Of an audit, keep the failures of confirmed
    families that stayed at its deciding look.
    """
    from trex.suite.add import add_runs

    added = add_runs(runs, to, only_confirmed=confirmed)
    print_result([_added_json(batch) for batch in added], "\n".join(map(_added_words, added)), as_json)


@suite_app.command()
def run(
    ctx: typer.Context,
    suite: Annotated[Path, typer.Argument(metavar="DIR", help="A suite, as `trex suite add` makes it.")],
    model: Annotated[str, typer.Option("--model", help="The model to ask; docs/MODELS.md.")],
    endpoint: Endpoint = None,
    max_requests: MaxRequests = None,
    trust_remote_code: TrustRemoteCode = False,
    render: Annotated[
        str | None,
        typer.Option(metavar="PRESET", help="Render every scene again at this preset; pictures are cached."),
    ] = None,
    fresh: Annotated[
        int,
        typer.Option(help="Render each under this many fresh noise seeds, and judge mean probabilities."),
    ] = 0,
    seed: Annotated[int, typer.Option(help="The seed that --fresh derives its noise seeds from.")] = 0,
    device: Annotated[str, typer.Option(help=f"Of --render: {DEVICE_WORDS}.")] = "auto",
    processes: Processes = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 3 if any scene fails, not only if one fails newly.")
    ] = False,
    record: Annotated[
        bool,
        typer.Option("--record/--no-record", help="Make this the run that the next one is compared with."),
    ] = True,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Write JUnit XML, one test case per scene."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a model about the stored pictures, or about the scenes rendered again.

    Exit 3 if it fails on a scene on which the last run did not. Runs on the stored pictures are compared with each
    other, and so are runs at each preset.
    """
    from trex.foundation.junit import check_junit, write_junit
    from trex.trials.suite.look import SuiteLook, write_last_run
    from trex.trials.suite.rendered import Rendering
    from trex.trials.suite.run import cases, is_failure

    _refuse_ignored(ctx, render is not None, fresh > 0)
    if junit is not None:
        check_junit(junit)
    options = model_options(endpoint, max_requests, trust_remote_code)
    done = _run_at(suite, model, options, SuiteLook(render, fresh, seed), Rendering(device, processes))
    if junit is not None:
        write_junit(junit, "trex suite", cases(suite, done, strict=strict))
    if record:
        write_last_run(suite, done.record(), done.look)
    print_result(_run_json(done), _run_words(done), as_json)
    if any(is_failure(result, strict=strict) for result in done.results):
        raise typer.Exit(FAILED)


def _refuse_ignored(ctx: typer.Context, is_rendered: bool, is_fresh: bool) -> None:
    """Raise InputError for an option that says how to render, if nothing is rendered or nothing is fresh."""
    if not is_rendered:
        why = "the stored pictures are asked about; add --render PRESET, or drop it"
        refuse(ctx, ("fresh", "seed", "device", "processes"), why)
    if not is_fresh:
        refuse(ctx, ("seed",), "each scene has its own noise seed; add --fresh N, or drop it")


def _run_at(
    suite: Path, model: str, options: ModelOptions, look: SuiteLook, rendering: Rendering
) -> SuiteRun:
    """Run the suite, with a progress display if it renders."""
    from trex.trials.suite.run import run_suite

    if look.preset is None:
        return run_suite(suite, model, options=options)
    with display_until_stopped("every batch of pictures that was rendered is kept") as display:
        return run_suite(suite, model, look, rendering, display.show, options)


def _added_words(added: AddedBatch) -> str:
    left_out = f", {added.unconfirmed} left out by confirmations" if added.unconfirmed else ""
    place = f": {added.batch}" if added.batch else ""
    return f"{added.run}: {counted(added.new, 'new scene')}, {added.known} known{left_out}{place}"


def _added_json(added: AddedBatch) -> dict[str, object]:
    return {
        "run": str(added.run),
        "new": added.new,
        "known": added.known,
        "unconfirmed": added.unconfirmed,
        "batch": str(added.batch) if added.batch else None,
    }


def _run_words(done: SuiteRun) -> str:
    lines = [f"{result.change.value:14} {result.key}: {result.words}" for result in done.results]
    return "\n".join((*lines, *done.sentences()))


def _run_json(done: SuiteRun) -> dict[str, object]:
    from dataclasses import asdict

    from trex.trials.suite.run import Change

    test, groups = done.paired, done.paired_groups
    return {
        "model": done.model,
        "look": done.look.name,
        "last_model": done.last or None,
        "counts": {change.value: len(done.of(change)) for change in Change},
        "scenes": [{**asdict(result), "change": result.change.value} for result in done.results],
        "paired": {**asdict(test), "groups": groups.n, "p_value": groups.p_value}
        if test and groups
        else None,
    }


COMMAND = suite_app
