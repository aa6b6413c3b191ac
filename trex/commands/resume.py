"""Resume a run that was stopped or killed."""

from __future__ import annotations

from typing import Annotated

import typer

from trex.commands.shell.options import Large, Log, RunPath, Trust
from trex.commands.shell.result import AsJson
from trex.commands.shell.trust import trust_runs
from trex.commands.shell.verdicts import Conditions, Junit, make_gate


def resume(
    run: RunPath,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Keep the draws before the first damaged one and repeat the rest."),
    ] = False,
    trust: Trust = False,
    large: Large = True,
    fail_if: Conditions = None,
    junit: Junit = None,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Resume a run that was stopped or killed; its draws are the same as without the interruption."""
    from trex.commands.shell.search import Ending, run_resume, trackers

    ending = Ending(as_json, large, make_gate(fail_if, junit), trackers(log))
    if trust:
        trust_runs([run])
    run_resume(run, ending, is_repaired=repair)


COMMAND = resume
