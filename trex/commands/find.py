"""Search for the pictures that a query describes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trex.commands.shell.options import (
    Endpoint,
    Large,
    Log,
    MaxRequests,
    ModelName,
    QueryFile,
    Settings,
    TrustQuery,
    TrustRemoteCode,
    overrides,
)
from trex.commands.shell.result import AsJson
from trex.commands.shell.trust import trust_queries
from trex.commands.shell.verdicts import Conditions, Junit, make_gate


def find(
    query: QueryFile,
    out: Annotated[
        Path | None, typer.Option(help="The run folder to create; by default a new one below runs/.")
    ] = None,
    model: ModelName = None,
    endpoint: Endpoint = None,
    max_requests: MaxRequests = None,
    trust_remote_code: TrustRemoteCode = False,
    settings: Settings = None,
    trust: TrustQuery = False,
    large: Large = True,
    fail_if: Conditions = None,
    junit: Junit = None,
    log: Log = None,
    as_json: AsJson = False,
) -> None:
    """Search for the pictures that a query describes. Ctrl-C keeps all draws; `trex resume` continues."""
    from trex.commands.shell.search import Ending, run_find, trackers

    ending = Ending(as_json, large, make_gate(fail_if, junit), trackers(log))
    changes = overrides(model, settings, endpoint, max_requests, trust_remote_code)
    if trust:
        trust_queries([query], changes)
    run_find(query, changes, out, ending)


COMMAND = find
