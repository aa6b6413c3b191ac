"""A regression suite in Python, with the verbs of `trex suite` as its methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from trex.commands.suite import ADD, RUN
from trex.commands.verb import with_options
from trex.foundation.files import path_of
from trex.suite.options import SuiteAddOptions, SuiteRunOptions

if TYPE_CHECKING:
    from trex.suite.add import AddedBatch
    from trex.suite.run import SuiteRun

Runs = str | PathLike[str] | Sequence[str | PathLike[str]]


@dataclass(frozen=True)
class Suite:
    """A folder of failures with their pictures, of which other models are asked; `add` makes it.

    Parameters
    ----------
    path : Path
        The folder. Example: Path("failures").
    """

    path: Path

    @with_options(SuiteAddOptions, without=("to",))
    def add(self, runs: Runs, *, progress: bool = True, **options: object) -> tuple[AddedBatch, ...]:
        """Keep the hits of these runs on which the model is wrong, and the confirmed failures of audits.

        Adding a run again adds nothing. InputError if a run has no wrong hit.
        """
        added: tuple[AddedBatch, ...] = ADD.function()(runs, to=self.path, progress=progress, **options)
        return added

    @with_options(SuiteRunOptions, without=("suite",))
    def run(self, model: object, *, progress: bool = True, **options: object) -> SuiteRun:
        """Ask a model, by name or as an object, about the stored pictures, or about the scenes rendered again."""
        done: SuiteRun = RUN.function()(self.path, model=model, progress=progress, **options)
        return done


def suite(path: str | PathLike[str]) -> Suite:
    """The regression suite in a folder, which need not exist yet.

    Parameters
    ----------
    path : str or path
        The suite's folder; `add` makes it.

    Examples
    --------
    Keep the failures of a run, and ask another model about them::

        trex.suite("failures").add(run)
        trex.suite("failures").run("relation-network").is_failed
    """
    return Suite(path_of(path, 'the folder of a suite, such as "failures"'))
