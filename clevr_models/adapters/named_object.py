"""Imports `package.module:attribute`, with the current folder first on the path."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from trex.foundation.errors import InputError
from trex.foundation.own_code import RAISED, error_text

SUFFIX = ".py"


def import_factory(name: str) -> Callable[..., object]:
    """The callable that "module:attribute" names, see `import_object`; InputError if there is none."""
    factory = import_object(name)
    if not callable(factory):
        raise InputError(f"{name} is of type {type(factory).__name__}; name a function")
    return factory


def import_object(name: str) -> object:
    """What "module:attribute" names; InputError if there is no such thing.

    `module` may be the path of a file in the current folder or below: "pkg/m.py" and "pkg/m" are "pkg.m". The current
    folder is searched first, as Python does for a script: a file beside the user's module takes precedence over an
    installed package of the same name.
    """
    module, _, attribute = name.partition(":")
    here = os.getcwd()
    if sys.path[:1] != [here]:
        sys.path.insert(0, here)
    dotted = _dotted(module, attribute)
    try:
        found = importlib.import_module(dotted)
        thing: object = getattr(found, attribute, None)
    except RAISED as error:  # a user's module may raise anything while it is imported, or end the program
        is_missing = isinstance(error, ModuleNotFoundError) and error.name in _parents(dotted)
        searched = f"; it is neither in {here} nor installed" if is_missing else ""
        raise InputError(f"cannot import module {dotted!r}: {error_text(error)}{searched}") from error
    if thing is None:
        near = ", ".join(
            name for name in vars(found) if not name.startswith("_") and callable(vars(found)[name])
        )
        file = getattr(found, "__file__", None)
        own = Path(*dotted.split(".")).with_suffix(SUFFIX)
        is_other = bool(file) and own.is_file() and Path(str(file)).resolve() != own.resolve()
        rename = f"; {file} was imported under that name before: rename {own}" if is_other else ""
        raise InputError(f"module {dotted!r} has no function {attribute!r}; it has {near or 'none'}{rename}")
    return thing


def _dotted(module: str, attribute: str) -> str:
    """Python's name of a module, of which the user may give the path; InputError if there is none from here."""
    if "/" in module or os.sep in module:
        return _of_path(module, attribute)
    if module.startswith("."):
        raise InputError(f"module {module!r} begins with a dot; write {module.lstrip('.')}:{attribute}")
    if not module.endswith(SUFFIX) or Path(*module.split(".")).with_suffix(SUFFIX).is_file():
        return module  # the second is a module py in a package: "pkg.py"
    return _of_path(module, attribute) if Path(module).is_file() else module.removesuffix(SUFFIX)


def _of_path(module: str, attribute: str) -> str:
    """The name of the module in a file: its path from the current folder, with dots."""
    path = Path(os.path.abspath(Path(module).expanduser()))  # links are not followed
    is_package = (path / "__init__.py").is_file()
    file = path if path.suffix == SUFFIX or is_package else path.with_name(path.name + SUFFIX)
    if not file.is_file() and not is_package:
        raise InputError(f"there is no module {module!r}: {file} is not a file")
    if "." in file.stem:
        raise InputError(
            f"{file} has a dot in its name, with which Python imports no module; rename the file"
        )
    parts = _below_here(file)
    if not parts:
        raise InputError(
            f"{file} cannot be imported from the current folder; run trex in {file.parent}, and write "
            f"{file.stem}:{attribute}"
        )
    return ".".join(parts)


def _below_here(file: Path) -> tuple[str, ...]:
    """The parts of a module's name, () if it is not below the current folder, whose own path may go over links."""
    for place in (file, file.parent.resolve() / file.name):
        parts = Path(os.path.relpath(place)).with_suffix("").parts
        if not any("." in part for part in parts):  # ".." above all
            return parts
    return ()


def _parents(module: str) -> set[str]:
    """The module's name and those of its packages: "a", "a.b" of "a.b"."""
    parts = module.split(".")
    return {".".join(parts[: n + 1]) for n in range(len(parts))}
