"""`trex find`: searches for the pictures that a query describes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trex.cli.command import SEARCH, Command
from trex.cli.options import (
    Endpoint,
    Large,
    Log,
    MaxRequests,
    ModelName,
    QueryFile,
    Settings,
    TrustRemoteCode,
    overrides,
)
from trex.cli.result import AsJson
from trex.cli.trust import TrustQuery, trust_queries
from trex.cli.verdicts import Conditions, Junit, make_gate


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
    from trex.cli.search import Ending, run_find, trackers

    ending = Ending(as_json, large, make_gate(fail_if, junit), trackers(log))
    changes = overrides(model, settings, endpoint, max_requests, trust_remote_code)
    if trust:
        trust_queries([query], changes)
    run_find(query, changes, out, ending)


COMMAND = Command("find", find, SEARCH, 10)
