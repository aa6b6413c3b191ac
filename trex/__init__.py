"""Bayes-TrEx: find scenes in which a vision model is confidently wrong, or torn.

    import trex
    run = trex.find(question="How many cubes are there?", answer="1", revoke=["cube"])
    run.hits, run.rate, run.draws, run.explain(), run.report()
    run.curve(over="distance").threshold
    trex.audit("shipped").families

This package is the application, named after its command; each folder is a subpackage and says what lives there. The
libraries `scenes`, `render`, `inference`, `clevr_models`, `mnist_models`, `artifacts`, `foundation` and
`blender_assets` stand at the top of the repository and are imported as `trex.scenes`, `trex.render` and so on, never
by their bare names. A subpackage that has the name of a verb can be called as that verb: `trex.export(run)`.

Importing it takes milliseconds: what it offers is loaded when it is first used.
"""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from collections.abc import Callable as _Callable
    from inspect import Signature as _Signature

    from trex.auditing.perform import AuditResult
    from trex.commands.baseline import CountedQueries as _CountedQueries
    from trex.commands.results.frames import frame
    from trex.commands.results.repair import Repair, open_repair
    from trex.commands.results.run import Run, open_run
    from trex.commands.results.suite import Suite
    from trex.commands.verb import Stopped
    from trex.curves.curve import Curve
    from trex.explain.explanation import Explanation
    from trex.families.family import Family
    from trex.finding.check import QueryCheck
    from trex.foundation.errors import InputError, ModelError, RenderError, RunError, TrexError
    from trex.inference.targets.own import Target
    from trex.report.compare import Comparison as _Comparison
    from trex.scenes.prior import ScenePrior
    from trex.search.hit import Hit
    from trex.worlds.own.world import World

    __version__: str
    audit: _Callable[..., AuditResult]
    baseline: _Callable[..., _CountedQueries]
    compare: _Callable[..., _Comparison]
    curve: _Callable[..., Curve]
    check: _Callable[..., QueryCheck]
    find: _Callable[..., Run]

_VERBS = {
    "audit": ("audit", "VERB"),
    "bank": ("render", "BANK"),
    "baseline": ("baseline", "VERB"),
    "check": ("query", "CHECK"),
    "compare": ("compare", "VERB"),
    "curve": ("curve", "VERB"),
    "export": ("export", "VERB"),
    "find": ("results.run", "FIND"),
    "repair": ("repair", "BEGIN"),
}  # in `trex.commands`
_HOMES = {
    "AuditResult": "trex.auditing.perform",
    **dict.fromkeys(("open_repair", "Repair"), "trex.commands.results.repair"),
    **dict.fromkeys(("Run", "open_run"), "trex.commands.results.run"),
    **dict.fromkeys(("Suite", "suite"), "trex.commands.results.suite"),
    "frame": "trex.commands.results.frames",
    "render": "trex.commands.results.pictures",
    "ScenePrior": "trex.scenes.prior",
    "Target": "trex.inference.targets.own",
    "World": "trex.worlds.own.world",
    "Curve": "trex.curves.curve",
    "Explanation": "trex.explain.explanation",
    "Family": "trex.families.family",
    "Hit": "trex.search.hit",
    "QueryCheck": "trex.finding.check",
    "Stopped": "trex.commands.verb",
    **dict.fromkeys(
        ("TrexError", "InputError", "ModelError", "RenderError", "RunError"), "trex.foundation.errors"
    ),
}
_CALLED = ("bank", "export", "render", "repair", "suite")  # subpackages that are verbs as well
_METHODS = {
    **dict.fromkeys(("explain", "families", "report", "resume"), "open_run"),
    **dict.fromkeys(("correct", "distill", "identify", "label", "prove"), "open_repair"),
}  # members of what these functions open

__all__ = [
    "AuditResult",
    "Curve",
    "Explanation",
    "Family",
    "Hit",
    "InputError",
    "ModelError",
    "QueryCheck",
    "RenderError",
    "Repair",
    "Run",
    "RunError",
    "ScenePrior",
    "Stopped",
    "Suite",
    "Target",
    "TrexError",
    "World",
    "__version__",
    "audit",
    "bank",
    "baseline",
    "check",
    "compare",
    "curve",
    "export",
    "find",
    "frame",
    "open_repair",
    "open_run",
    "render",
    "repair",
    "suite",
]


class _Called(_ModuleType):
    """A subpackage that can be called as the verb of its name, whose signature and documentation it shows."""

    def __call__(self, *given: object, **keywords: object) -> object:
        return self._verb(*given, **keywords)

    @property
    def _verb(self) -> _Callable[..., object]:
        return _loaded(self.__name__.rpartition(".")[2])

    @property
    def __signature__(self) -> _Signature:
        from inspect import signature

        return signature(self._verb)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        return self._verb.__doc__


class _Method(_ModuleType):
    """A subpackage with the name of a member of a run or a repair; calling it says whose."""

    def __call__(self, *_: object, **__: object) -> object:
        raise TypeError(_missing(self.__name__.rpartition(".")[2]))


class _Package(_ModuleType):
    """`trex`: when Python has imported a subpackage that is a verb as well, it becomes one that can be called."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _CALLED and isinstance(value, _ModuleType):
            value.__class__ = _Called
        elif name in _METHODS and isinstance(value, _ModuleType):
            value.__class__ = _Method
        super().__setattr__(name, value)


def _loaded(name: str) -> _Callable[..., object]:
    """The verb or class of this name."""
    from trex.foundation.home import prepare_packages

    prepare_packages()
    if name in _VERBS:
        home, verb = _VERBS[name]
        function: _Callable[..., object] = getattr(
            _importlib.import_module(f"trex.commands.{home}"), verb
        ).function()
        return function
    found: _Callable[..., object] = getattr(_importlib.import_module(_HOMES[name]), name)
    return found


def _missing(name: str) -> str:
    if name not in _METHODS:
        return f"module {__name__!r} has no attribute {name!r}"
    return f"module {__name__!r} has no function {name!r}: use trex.{_METHODS[name]}(FOLDER).{name}"


def __getattr__(name: str) -> object:
    """What the package offers under this name, loaded now."""
    if name == "__version__":
        from importlib.metadata import version

        return version("bayes-trex")
    if name in _CALLED:
        return _importlib.import_module(f"trex.{name}")
    if name not in _HOMES and name not in _VERBS:
        raise AttributeError(_missing(name))
    found = _loaded(name)
    return globals().setdefault(name, found) if name in _VERBS else found


def __dir__() -> list[str]:
    return sorted(__all__)


_sys.modules[__name__].__class__ = _Package
