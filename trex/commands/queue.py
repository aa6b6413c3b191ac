"""Queue many queries, audits and repairs; run, watch and serve the queue."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trex.auditing.options import AuditOptions
from trex.commands.queue_run import check_runs, run, serve, watch
from trex.commands.shell.result import Printed, note
from trex.commands.shell.trust import trust_queries
from trex.commands.verb import Session, Verb, verb_of
from trex.farm.queue.entry import ENDED, Entry
from trex.farm.queue.words import HEADER, SHORT, details, fields, line, tally
from trex.foundation.errors import InputError, RunError, unknown
from trex.foundation.options import Option, Options
from trex.foundation.words import quoted
from trex.query.verb_options import QueryChanges, Settings
from trex.runs.place import RUNS

if TYPE_CHECKING:
    from trex.farm.queue.add import Added
    from trex.farm.queue.requests import QueueRequest

COMMAND = typer.Typer(no_args_is_help=True, help=__doc__)
SHOWN = 10  # entries that a command names; --json names all
Runs = Annotated[Path, Option("The folder of the queue and its runs.")]
Priority = Annotated[int, Option("Higher goes first.", low=-1_000_000, high=1_000_000)]
Ids = Annotated[
    tuple[str, ...],
    Option("IDs that `trex queue list` shows; a unique prefix is enough.", metavar="ID...", is_argument=True),
]
OpenOnes = Annotated[bool, Option("All queued and running entries.", ("--all",))]


class Queued(Options):
    """How soon, and in which queue."""

    priority: Priority = 0
    runs: Runs = RUNS


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
    lines.append(
        f"{len(new)} queued, {len(known)} already in the queue{repeats}; {_next(runs, [*new, *known])}"
    )
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
            "A TOML file, or the name of a shipped repair such as clevr.",
            metavar="QUERY",
            is_argument=True,
            example="mnist",
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
        _fields(options.runs, added),
        f"{words} {line(options.runs, added.entry)}; {_next(options.runs, [added.entry])}",
    )


def _next(runs: Path, entries: Sequence[Entry]) -> str:
    """What to do with entries that were given to the queue: those that ended stay so until they are retried."""
    ended = [entry.id[:SHORT] for entry in entries if entry.state in ENDED]
    retry = (
        f"retry what failed or was cancelled: {_command(' '.join(['retry', *ended]), runs)}; then "
        if ended
        else ""
    )
    return f"{retry}run them: {_command('run', runs)}"


def _command(name: str, runs: Path) -> str:
    """A command on the queue in this folder, as it is typed."""
    return f"trex queue {name}" + ("" if runs == RUNS else f" --runs {quoted(runs)}")


def _fields(runs: Path, added: Added) -> dict[str, object]:
    return {**fields(runs, added.entry), "is_new": added.is_new}


def list_entries(
    session: Session,
    state: Annotated[
        tuple[str, ...], Option("Only entries in this state: queued, running, done, ... Repeatable.")
    ] = (),
    limit: Annotated[int | None, Option("Show at most this many.", low=1, high=1_000_000)] = None,
    runs: Runs = RUNS,
) -> Printed:
    """Show the queue, in the order in which entries will run."""
    from trex.farm.queue import queue
    from trex.farm.queue.entry import STATES
    from trex.farm.queue.queue_file import has_queue

    for each in state:
        if each not in STATES:
            raise unknown("state", each, STATES)
    check_runs(runs)
    entries = queue.entries(runs, [each for each in STATES if each in state], limit)
    none = f"no such entries in {runs}"
    if not has_queue(runs):
        again = f"trex queue rebuild --runs {quoted(runs)}"
        none = f"{runs} has no queue; add a query, or rebuild it from run folders: {again}"
    lines = [HEADER, *(line(runs, entry) for entry in entries)] if entries else [none]
    lines.append(f"total: {tally(queue.counts(runs))}")
    return Printed([fields(runs, entry) for entry in entries], "\n".join(lines))


def show(
    session: Session,
    entry_id: Annotated[
        str,
        Option(
            "An ID that `trex queue list` shows; a unique prefix is enough.", metavar="ID", is_argument=True
        ),
    ],
    runs: Runs = RUNS,
) -> Printed:
    """Show all facts about one entry."""
    from trex.farm.queue import queue
    from trex.farm.queue.entry import run_path
    from trex.farm.queue.queued_folder import read_queued

    entry = queue.entry(runs, entry_id)
    try:
        overrides = read_queued(run_path(runs, entry)).overrides
    except RunError as error:  # the folder is missing or damaged: report that, and show the rest
        note(f"note: {error}")
        overrides = ()
    return Printed(
        {**fields(runs, entry), "overrides": overrides}, "\n".join(details(runs, entry, overrides))
    )


def cancel(session: Session, ids: Ids = (), everything: OpenOnes = False, runs: Runs = RUNS) -> Printed:
    """Cancel entries; a running one stops after its current segment, and its draws are kept."""
    from trex.farm.queue import queue

    return _changed(
        "cancelled", runs, queue.cancel(runs, _open_ids(session, runs, ids, everything), time.time())
    )


def priority(
    session: Session, to: Priority, ids: Ids = (), everything: OpenOnes = False, runs: Runs = RUNS
) -> Printed:
    """Change the priority of entries; a running one uses it from its next segment on."""
    from trex.farm.queue import queue

    changed = queue.prioritize(runs, _open_ids(session, runs, ids, everything), to)
    return _changed(f"set to priority {to}", runs, changed)


def retry(
    session: Session,
    ids: Ids = (),
    failed: Annotated[bool, Option("All failed entries.", ("--failed",))] = False,
    runs: Runs = RUNS,
) -> Printed:
    """Queue failed or cancelled entries again; they resume from their draws."""
    from trex.farm.queue import queue

    if failed:
        session.options.refuse(["ids"], "--failed retries all failed entries; drop it or the IDs")
    check_runs(runs)
    chosen = (
        [each.id for each in queue.entries(runs, ["failed"])] if failed else _given_ids(runs, ids, "--failed")
    )
    return _changed("queued again", runs, queue.retry(runs, chosen))


def clean(
    session: Session,
    failed: Annotated[
        bool, Option("Remove failed entries as well as finished and cancelled ones.", ("--failed",))
    ] = False,
    delete_runs: Annotated[
        bool, Option("Delete their run folders, draws and reports included.", ("--delete-runs",))
    ] = False,
    runs: Runs = RUNS,
) -> Printed:
    """Remove finished and cancelled entries from the queue; their run folders stay without --delete-runs."""
    from trex.farm.queue.entry import State
    from trex.farm.queue.queue import clean as clean_queue

    check_runs(runs)
    states: list[State] = ["done", "cancelled", "failed"] if failed else ["done", "cancelled"]
    removed, not_deleted = clean_queue(runs, states, delete_runs=delete_runs)
    for reason in not_deleted:
        note(f"not deleted: {reason}")
    return _changed("removed from the queue", runs, removed)


def rebuild(session: Session, runs: Runs = RUNS) -> Printed:
    """Rebuild the queue from the run folders, after it was deleted or damaged or runs were moved."""
    from trex.farm.queue import queue
    from trex.farm.queue import rebuild as queue_rebuild

    done = queue_rebuild.rebuild(runs)
    for reason in done.skipped:
        note(f"skipped: {reason}")
    if done.moved_to is not None:
        note(f"the damaged queue file is now {done.moved_to}")
    words = f"{len(done.entries)} entries from the run folders in {runs}: {tally(queue.counts(runs))}"
    return Printed([fields(runs, entry) for entry in done.entries], words)


def _open_ids(session: Session, runs: Path, ids: Sequence[str], everything: bool) -> list[str]:
    """The given IDs, or with --all those of all queued and running entries."""
    from trex.farm.queue import queue
    from trex.farm.queue.entry import OPEN

    if everything:
        session.options.refuse(["ids"], "--all selects all queued and running entries; drop it or the IDs")
    check_runs(runs)
    if not everything:
        return _given_ids(runs, ids, "--all")
    return [each.id for each in queue.entries(runs, OPEN)]


def _given_ids(runs: Path, ids: Sequence[str], other: str) -> list[str]:
    if not ids:
        raise InputError(f"no ID given; list them with {_command('list', runs)}, or give {other}")
    return list(dict.fromkeys(ids))


def _changed(what: str, runs: Path, entries: Sequence[Entry]) -> Printed:
    lines = [*_first([line(runs, entry) for entry in entries]), f"{len(entries)} {what}"]
    return Printed([fields(runs, entry) for entry in entries], "\n".join(lines))


def _first(lines: Sequence[str]) -> list[str]:
    """The first lines, and how many more there are."""
    more = [f"... and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return [*lines[:SHOWN], *more]


KEPT = "nothing was queued"
COMMAND.command("add")(Verb(AddOptions, add, KEPT).command())
COMMAND.command("audit")(Verb(QueuedAudit, audit, KEPT).command())
COMMAND.command("repair")(Verb(QueuedRepair, repair, KEPT).command())
COMMAND.command("list")(verb_of(list_entries).command())
for function in (show, cancel, priority, retry, clean, rebuild, run):
    COMMAND.command(function.__name__)(verb_of(function).command())
for command in (watch, serve):
    COMMAND.command()(command)
