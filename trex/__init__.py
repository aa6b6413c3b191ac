"""Bayes-TrEx: find scenes in which a vision model is confidently wrong, or torn.

    import trex
    run = trex.find(question="How many cubes are there?", answer="1", revoke=["cube"])
    run.hits, run.rate, run.draws, run.explain(), run.report()
    run.curve(over="distance").threshold
    trex.audit("shipped").families

This package is the application, named after its command; each folder is a subpackage and says what lives there. The
libraries `scenes`, `render`, `inference`, `clevr_models`, `mnist_models`, `artifacts`, `foundation` and
`blender_assets` stand at the top of the repository and are imported as `trex.scenes`, `trex.render` and so on, never
by their bare names.

Importing it takes milliseconds: what it offers is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from trex.auditing.perform import AuditResult
    from trex.commands.results.repair import Repair, open_repair
    from trex.commands.results.run import Run, open_run
    from trex.commands.verb import Stopped
    from trex.curves.curve import Curve
    from trex.finding.check import QueryCheck
    from trex.foundation.errors import InputError, ModelError, RenderError, RunError, TrexError
    from trex.search.hit import Hit

    audit: Callable[..., AuditResult]
    begin_repair: Callable[..., Repair]
    curve: Callable[..., Curve]
    check: Callable[..., QueryCheck]
    find: Callable[..., Run]

VERBS = {
    "audit": ("audit", "VERB"),
    "begin_repair": ("repair", "BEGIN"),
    "check": ("query", "CHECK"),
    "curve": ("curve", "VERB"),
    "find": ("results.run", "FIND"),
}  # in `trex.commands`
_HOMES = {
    "AuditResult": "trex.auditing.perform",
    **dict.fromkeys(("open_repair", "Repair"), "trex.commands.results.repair"),
    **dict.fromkeys(("Run", "open_run"), "trex.commands.results.run"),
    "Curve": "trex.curves.curve",
    "Hit": "trex.search.hit",
    "QueryCheck": "trex.finding.check",
    "Stopped": "trex.commands.verb",
    **dict.fromkeys(
        ("TrexError", "InputError", "ModelError", "RenderError", "RunError"), "trex.foundation.errors"
    ),
}

__all__ = [
    "AuditResult",
    "Curve",
    "Hit",
    "InputError",
    "ModelError",
    "QueryCheck",
    "RenderError",
    "Repair",
    "Run",
    "RunError",
    "Stopped",
    "TrexError",
    "audit",
    "begin_repair",
    "check",
    "curve",
    "find",
    "open_repair",
    "open_run",
]


def __getattr__(name: str) -> object:
    """What the package offers under this name, loaded now."""
    if name not in _HOMES and name not in VERBS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from trex.foundation.home import prepare_packages

    prepare_packages()
    if name in VERBS:
        home, verb = VERBS[name]
        function = getattr(importlib.import_module(f"trex.commands.{home}"), verb).function()
        return globals().setdefault(name, function)
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
