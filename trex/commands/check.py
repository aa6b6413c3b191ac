"""Check a query and report what it would do, or show how a question is read; renders nothing."""

from __future__ import annotations

from pathlib import Path

import typer

from trex.commands.shell.options import (
    Endpoint,
    MaxRequests,
    ModelName,
    QueryOrQuestion,
    Settings,
    TrustQuery,
    TrustRemoteCode,
    overrides,
    refuse,
)
from trex.commands.shell.result import AsJson
from trex.commands.shell.trust import trust_queries
from trex.query.shipped import is_question, query_path


def check(
    ctx: typer.Context,
    query: QueryOrQuestion,
    model: ModelName = None,
    endpoint: Endpoint = None,
    max_requests: MaxRequests = None,
    trust_remote_code: TrustRemoteCode = False,
    settings: Settings = None,
    trust: TrustQuery = False,
    as_json: AsJson = False,
) -> None:
    """Check a query and report what it would do, or show how a question is read; renders nothing.

    The model is loaded or, behind an address, asked about two small pictures. Writes nothing but what --trust allows.

    trex check "Are there more cubes than spheres?" prints the question's family, its answers and its program.
    """
    if is_question(query):
        from trex.commands.shell.question import run_check_question

        refuse(
            ctx,
            ("model", "endpoint", "max_requests", "trust_remote_code", "settings", "trust"),
            "a question alone is read, without a query or a model",
        )
        return run_check_question(query, as_json)
    from trex.commands.shell.search import run_check

    path = query_path(Path(query))
    changes = overrides(model, settings, endpoint, max_requests, trust_remote_code)
    if trust:
        trust_queries([path], changes)
    run_check(path, changes, as_json)


COMMAND = check
