"""Keep failures with their pictures, and ask other models about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from trex.commands.verb import Session, Verb
from trex.foundation.errors import FAILED
from trex.foundation.words import counted
from trex.suite.options import SuiteAddOptions, SuiteRunOptions

if TYPE_CHECKING:
    from trex.suite.add import AddedBatch
    from trex.suite.run import SuiteRun


@dataclass(frozen=True)
class AddedRuns:
    """What each run has added to a suite."""

    batches: Sequence[AddedBatch]

    def document(self) -> object:
        return [
            {
                "run": str(added.run),
                "new": added.new,
                "known": added.known,
                "unconfirmed": added.unconfirmed,
                "batch": str(added.batch) if added.batch else None,
            }
            for added in self.batches
        ]

    def __str__(self) -> str:
        return "\n".join(map(_words, self.batches))


def add(options: SuiteAddOptions, session: Session) -> AddedRuns:
    """Keep the hits on which the model's answer is wrong; adding a run again adds nothing.

    A hit that is right at a preset of `trex report --confirm` is left out. Of an audit, keep the failures of confirmed
    families that stayed at its deciding look.
    """
    from trex.suite.add import add_runs

    return AddedRuns(add_runs(options))


def run(options: SuiteRunOptions, session: Session) -> SuiteRun:
    """Ask a model about the stored pictures, or about the scenes rendered again.

    Exit 3 if it fails on a scene on which the last run did not. Runs on the stored pictures are compared with each
    other, and so are runs at each preset.
    """
    from trex.foundation.junit import check_junit, write_junit
    from trex.foundation.progress import silent
    from trex.suite.look import write_last_run
    from trex.suite.run import cases, run_suite

    if options.junit is not None:
        check_junit(options.junit)
    done = run_suite(options, silent if options.render is None else session.display.show)
    if options.junit is not None:
        write_junit(options.junit, "trex suite", cases(options.suite, done))
    if options.record:
        write_last_run(options.suite, done.record(), done.look)
    return done


def _words(added: AddedBatch) -> str:
    left_out = f", {added.unconfirmed} left out by confirmations" if added.unconfirmed else ""
    place = f": {added.batch}" if added.batch else ""
    return f"{added.run}: {counted(added.new, 'new scene')}, {added.known} known{left_out}{place}"


ADD = Verb(
    SuiteAddOptions,
    add,
    kept="every batch that was added is kept",
    result=lambda added, _: tuple(added.batches),
)
RUN = Verb(
    SuiteRunOptions,
    run,
    kept="every batch of pictures that was rendered is kept",
    after=lambda _, done: FAILED if done.is_failed else 0,
)
COMMAND = typer.Typer(no_args_is_help=True, help=__doc__)
COMMAND.command("add")(ADD.command())
COMMAND.command("run")(RUN.command())
