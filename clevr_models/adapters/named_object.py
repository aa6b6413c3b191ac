"""Imports `package.module:attribute`, with the current folder first on the path."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable

from trex.clevr_models.adapters.callable_model import RAISED, error_text
from trex.foundation.errors import InputError


def import_factory(module: str, attribute: str) -> Callable[..., object]:
    """What `module:attribute` names; InputError if there is no such callable.

    The current folder is searched first, as Python does for a script: a file beside the user's module takes
    precedence over an installed package of the same name.
    """
    here = os.getcwd()
    if sys.path[:1] != [here]:
        sys.path.insert(0, here)
    try:
        found = importlib.import_module(module)
        factory: Callable[..., object] | None = getattr(found, attribute, None)
    except RAISED as error:  # a user's module may raise anything while it is imported, or end the program
        is_missing = isinstance(error, ModuleNotFoundError) and error.name in _parents(module)
        searched = f"; it is neither in {here} nor installed" if is_missing else ""
        if is_missing and module.endswith(".py"):
            searched = f"; write {module.removesuffix('.py')}:{attribute}"
        raise InputError(f"cannot import module {module!r}: {error_text(error)}{searched}") from error
    if not callable(factory):
        near = ", ".join(
            name for name in vars(found) if not name.startswith("_") and callable(vars(found)[name])
        )
        raise InputError(f"module {module!r} has no function {attribute!r}; it has {near or 'none'}")
    return factory


def _parents(module: str) -> set[str]:
    """The module's name and those of its packages: "a", "a.b" of "a.b"."""
    parts = module.split(".")
    return {".".join(parts[: n + 1]) for n in range(len(parts))}
