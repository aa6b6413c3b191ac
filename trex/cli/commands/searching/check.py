"""`trex check`: checks a query and says what it would do."""

from __future__ import annotations

from trex.cli.command import SEARCH, Command
from trex.cli.options import Endpoint, ModelName, QueryFile, Settings, TrustRemoteCode, overrides
from trex.cli.result import AsJson


def check(
    query: QueryFile,
    model: ModelName = None,
    endpoint: Endpoint = None,
    trust_remote_code: TrustRemoteCode = False,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Check a query and report what it would do; renders and writes nothing."""
    from trex.cli.search import run_check

    run_check(query, overrides(model, settings, endpoint, trust_remote_code), as_json)


COMMAND = Command("check", check, SEARCH, 30)
