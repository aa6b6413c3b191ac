"""For the site: the verbs of `trex` as the module `trex.verbs`, with the signatures and documentation that they have.

A verb is made when it is used, from the options of its command, so that reading the source does not show it.
`mkdocs.yml` names this file under `extensions` of mkdocstrings' Python handler.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import griffe

KINDS = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: griffe.ParameterKind.positional_or_keyword,
    inspect.Parameter.KEYWORD_ONLY: griffe.ParameterKind.keyword_only,
    inspect.Parameter.VAR_KEYWORD: griffe.ParameterKind.var_keyword,
}
METHODS = (
    "commands.results.run.Run.explain",
    "commands.results.run.Run.curve",
    "commands.results.run.Run.confirm",
    "commands.results.suite.Suite.add",
    "commands.results.suite.Suite.run",
)


class Verbs(griffe.Extension):
    """Adds `trex.verbs`, and the keywords of methods that take a command's options."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Once the package is read."""
        if pkg.path != "trex":
            return
        import trex

        verbs = griffe.Module("verbs", docstring=griffe.Docstring("The verbs."))
        pkg.set_member("verbs", verbs)
        for name in (*trex._VERBS, "render", "suite"):
            verbs.set_member(name, _function(name, trex._loaded(name)))
        for path in METHODS:
            *_, owner, method = path.split(".")
            read = pkg[path]
            made = _function(method, getattr(getattr(trex, owner), method))
            read.parameters, read.docstring = made.parameters, made.docstring


def _function(name: str, function: Callable[..., object]) -> griffe.Function:
    parameters = [
        griffe.Parameter(
            each.name, annotation=_annotation(each), kind=KINDS[each.kind], default=_default(each)
        )
        for each in inspect.signature(function).parameters.values()
    ]
    made = griffe.Function(name, parameters=griffe.Parameters(*parameters))
    made.docstring = griffe.Docstring(inspect.getdoc(function) or "", parent=made)
    return made


def _annotation(parameter: inspect.Parameter) -> str | None:
    if parameter.annotation is inspect.Parameter.empty:
        return None
    return inspect.formatannotation(parameter.annotation).replace("pathlib.", "")


def _default(parameter: inspect.Parameter) -> str | None:
    return None if parameter.default is inspect.Parameter.empty else repr(parameter.default)
