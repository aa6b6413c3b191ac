"""Queue many queries, audits and repairs; run, watch and serve the queue."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.auditing.options import AuditOptions
from trex.commands.queue_run import Runs, run, serve, watch
from trex.commands.shell.options import refuse
from trex.commands.shell.result import AsJson, Printed, note, print_result
from trex.commands.shell.trust import trust_queries
from trex.commands.verb import Session, Verb
from trex.farm.queue.entry import Entry
from trex.farm.queue.words import HEADER, details, fields, line, tally
from trex.foundation.errors import InputError, RunError, unknown
from trex.foundation.options import Option, Options
from trex.query.verb_options import QueryChanges, Settings
from trex.runs.place import RUNS

if TYPE_CHECKING:
    from trex.farm.queue.add import Added
    from trex.farm.queue.requests import QueueRequest

queue_app = typer.Typer(no_args_is_help=True, help="Queue many queries; `trex queue run` runs them.")
SHOWN = 10  # entries that a command names; --json names all
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="ID...", help="IDs that `trex queue list` shows; a unique prefix is enough."),
]
Priority = Annotated[int, typer.Option(help="Higher goes first.", min=-1_000_000, max=1_000_000)]
OpenOnes = Annotated[bool, typer.Option("--all", help="All queued and running entries.")]


class Place(Options):
    """Which queue."""

    runs: Annotated[Path, Option("The folder of the queue and its runs.")] = RUNS


class Queued(Place):
    """How soon, and in which queue."""

    priority: Annotated[int, Option("Higher goes first.", low=-1_000_000, high=1_000_000)] = 0


class AddOptions(Queued, QueryChanges):
    """Which queries to queue."""

    queries: Annotated[
        tuple[str, ...],
        Option(
            "TOML files, names of shipped queries, or patterns like 'queries/*'.",
            metavar="QUERY...",
            is_argument=True,
        ),
    ]
    sweep: Annotated[
        tuple[str, ...],
        Option("Queue one entry per value (or 0..99); several sweeps combine.", metavar="KEY=A,B,C"),
    ] = ()


def add(options: AddOptions, session: Session) -> Printed:
    """Check queries and add them to the queue, each with its own run folder; renders nothing."""
    from trex.farm.queue import add as queue_add
    from trex.farm.queue.requests import query_files, queue_requests
    from trex.farm.queue.sweep import combinations

    fixed, runs = options.changes, options.runs
    files, ways = query_files(options.queries), combinations(options.sweep, fixed)
    if options.trust:
        trust_queries(files, fixed, ways)
    requests = queue_requests(files, fixed, ways)
    added = queue_add.add(runs, requests, options.priority, time.time())
    new, known = [[each.entry for each in added if each.is_new is flag] for flag in (True, False)]
    lines = [
        *_first([f"queued {line(runs, entry)}" for entry in new]),
        *_first([f"known  {line(runs, entry)}" for entry in known]),
    ]
    repeated = len(requests) - len(added)
    repeats = f", {repeated} repeated in this command" if repeated else ""
    lines.append(f"{len(new)} queued, {len(known)} already in the queue{repeats}; run them: trex queue run")
    return Printed([_fields(runs, each) for each in added], "\n".join(lines))


class QueuedAudit(Queued, AuditOptions):
    """The options of an audit, and where it is queued."""


def audit(options: QueuedAudit, session: Session) -> Printed:
    """Check an audit and add it to the queue, with its own folder: the options of trex audit; renders nothing."""
    from trex.farm.queue.audits import audit_request

    given = options.model_dump(include=options.model_fields_set & AuditOptions.model_fields.keys())
    return _add(options, audit_request(AuditOptions.checked(given, is_typed=options.is_typed)))


class QueuedRepair(Queued):
    """Which repair to queue."""

    query: Annotated[
        str,
        Option(
            "A TOML file, or the name of a shipped repair such as clevr.", metavar="QUERY", is_argument=True
        ),
    ]
    set: Settings = ()


def repair(options: QueuedRepair, session: Session) -> Printed:
    """Check a repair on rendered scenes and add it to the queue, all its steps up to the report; renders nothing."""
    from trex.farm.queue.repairs import repair_request

    return _add(options, repair_request(options.query, list(options.set)))


def _add(options: Queued, request: QueueRequest) -> Printed:
    from trex.farm.queue import add as queue_add

    (added,) = queue_add.add(options.runs, [request], options.priority, time.time())
    words = "queued" if added.is_new else "known "
    return Printed(
        _fields(options.runs, added), f"{words} {line(options.runs, added.entry)}; run it: trex queue run"
    )


def _fields(runs: Path, added: Added) -> dict[str, object]:
    return {**fields(runs, added.entry), "is_new": added.is_new}


queue_app.command("add")(Verb(AddOptions, add, kept="nothing was queued").command())
queue_app.command("audit")(Verb(QueuedAudit, audit, kept="nothing was queued").command())
queue_app.command("repair")(Verb(QueuedRepair, repair, kept="nothing was queued").command())


@queue_app.command("list")
def list_entries(
    state: Annotated[
        list[str] | None,
        typer.Option(help="Only entries in this state: queued, running, done, ... Repeatable."),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Show at most this many.", min=1, max=1_000_000)] = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show the queue, in the order in which entries will run."""
    from trex.farm.queue import queue
    from trex.farm.queue.entry import STATES
    from trex.farm.queue.queue_file import has_queue

    for one in state or []:
        if one not in STATES:
            raise unknown("state", one, STATES)
    entries = queue.entries(runs, [one for one in STATES if one in (state or [])], limit)
    none = f"no such entries in {runs}"
    if not has_queue(runs):
        none = f"{runs} has no queue; add a query, or rebuild it from run folders: trex queue rebuild --runs {runs}"
    lines = [HEADER, *(line(runs, one) for one in entries)] if entries else [none]
    lines.append(f"total: {tally(queue.counts(runs))}")
    print_result([fields(runs, one) for one in entries], "\n".join(lines), as_json)


@queue_app.command()
def show(
    entry_id: Annotated[
        str,
        typer.Argument(metavar="ID", help="An ID that `trex queue list` shows; a unique prefix is enough."),
    ],
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Show all facts about one entry."""
    from trex.farm.queue import queue
    from trex.farm.queue.entry import run_path
    from trex.farm.queue.queued_folder import read_queued

    one = queue.entry(runs, entry_id)
    try:
        overrides = read_queued(run_path(runs, one)).overrides
    except RunError as error:  # the folder is missing or damaged: report that, and show the rest
        note(f"note: {error}")
        overrides = ()
    document = {**fields(runs, one), "overrides": overrides}
    print_result(document, "\n".join(details(runs, one, overrides)), as_json)


@queue_app.command()
def cancel(
    ctx: typer.Context,
    ids: Ids = None,
    everything: OpenOnes = False,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Cancel entries; a running one stops after its current segment, and its draws are kept."""
    from trex.farm.queue import queue

    _changed(
        "cancelled", runs, queue.cancel(runs, _open_ids(ctx, runs, ids, everything), time.time()), as_json
    )


@queue_app.command()
def priority(
    ctx: typer.Context,
    to: Priority,
    ids: Ids = None,
    everything: OpenOnes = False,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Change the priority of entries; a running one uses it from its next segment on."""
    from trex.farm.queue import queue

    changed = queue.prioritize(runs, _open_ids(ctx, runs, ids, everything), to)
    _changed(f"set to priority {to}", runs, changed, as_json)


@queue_app.command()
def retry(
    ctx: typer.Context,
    ids: Ids = None,
    failed: Annotated[bool, typer.Option("--failed", help="All failed entries.")] = False,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Queue failed or cancelled entries again; they resume from their draws."""
    from trex.farm.queue import queue

    if failed:
        refuse(ctx, ["ids"], "--failed retries all failed entries; drop it or the IDs")
    chosen = [one.id for one in queue.entries(runs, ["failed"])] if failed else _given_ids(ids, "--failed")
    _changed("queued again", runs, queue.retry(runs, chosen), as_json)


@queue_app.command()
def clean(
    failed: Annotated[
        bool, typer.Option("--failed", help="Remove failed entries as well as finished and cancelled ones.")
    ] = False,
    delete_runs: Annotated[
        bool, typer.Option("--delete-runs", help="Delete their run folders, draws and reports included.")
    ] = False,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Remove finished and cancelled entries from the queue; their run folders stay without --delete-runs."""
    from trex.farm.queue import clean as queue_clean
    from trex.farm.queue.entry import State

    states: list[State] = ["done", "cancelled", "failed"] if failed else ["done", "cancelled"]
    cleaned = queue_clean.clean(runs, states, delete_runs=delete_runs)
    for reason in cleaned.not_deleted:
        note(f"not deleted: {reason}")
    _changed("removed from the queue", runs, cleaned.entries, as_json)


@queue_app.command()
def rebuild(runs: Runs = RUNS, as_json: AsJson = False) -> None:
    """Rebuild the queue from the run folders, after it was deleted or damaged or runs were moved."""
    from trex.farm.queue import queue
    from trex.farm.queue import rebuild as queue_rebuild

    done = queue_rebuild.rebuild(runs)
    for reason in done.skipped:
        note(f"skipped: {reason}")
    if done.moved_to is not None:
        note(f"the damaged queue file is now {done.moved_to}")
    words = f"{len(done.entries)} entries from the run folders in {runs}: {tally(queue.counts(runs))}"
    print_result([fields(runs, one) for one in done.entries], words, as_json)


def _open_ids(ctx: typer.Context, runs: Path, ids: list[str] | None, everything: bool) -> list[str]:
    """The given IDs, or with --all those of all queued and running entries."""
    from trex.farm.queue import queue
    from trex.farm.queue.entry import OPEN

    if not everything:
        return _given_ids(ids, "--all")
    refuse(ctx, ["ids"], "--all selects all queued and running entries; drop it or the IDs")
    return [one.id for one in queue.entries(runs, OPEN)]


def _given_ids(ids: list[str] | None, other: str) -> list[str]:
    if not ids:
        raise InputError(f"no ID given; list them with trex queue list, or give {other}")
    return list(dict.fromkeys(ids))


def _changed(what: str, runs: Path, entries: Sequence[Entry], as_json: bool) -> None:
    lines = [*_first([line(runs, one) for one in entries]), f"{len(entries)} {what}"]
    print_result([fields(runs, one) for one in entries], "\n".join(lines), as_json)


def _first(lines: Sequence[str]) -> list[str]:
    """The first lines, and how many more there are."""
    more = [f"... and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return [*lines[:SHOWN], *more]


for command in (run, watch, serve):
    queue_app.command()(command)

COMMAND = queue_app
