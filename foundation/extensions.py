"""Extensions by name: modules that declare themselves, in a package of ours or installed separately.

Ours are what the modules of one package declare under one name: adding a file adds one (`declared`). A program may add
one of its own while it runs (`give`). For an `ExtensionPoint`, other distributions add theirs by an entry point in
its group (https://packaging.python.org/specifications/entry-points/). Only installed code is imported, so a name in
a foreign query or run folder never runs code of its author.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from trex.foundation.errors import InputError, unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
LIVE = "live:"  # begins the name of an object of this process, which no other process knows
METADATA = (".dist-info", ".egg-info")
_given: dict[type, dict[str, object]] = {}


def declared(package: str, attribute: str, of: type[T]) -> dict[str, T]:
    """What the modules of a dotted package, and of packages below it, declare as `attribute`, by name.

    One thing of type `of`, or a tuple of them; each has a `name`. What was given in this process follows. InputError if
    two have the same name.
    """
    found = _ours(package, attribute, of)
    given = _given.get(of, {})
    if twice := found.keys() & given.keys():
        name = min(twice)
        del given[name]
        raise InputError(f"{attribute.lower()} {name!r} exists already; give yours another name")
    return {**found, **{name: each for name, each in given.items() if isinstance(each, of)}}


def _ours(package: str, attribute: str, of: type[T]) -> dict[str, T]:
    """What the modules of a package declare."""
    found: dict[str, T] = {}
    for module in _modules(package, attribute):
        things = [each for each in _each(getattr(module, attribute, ())) if isinstance(each, of)]
        _add(found, attribute.lower(), module.__name__, things)
    return found


def session_name(thing: object) -> str:
    """The name of an object of this process, "live:package.module.function" or that of its class."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{LIVE}{named.__module__}.{named.__qualname__}"


def is_code(name: str) -> bool:
    """Whether a name is one of an object in a module: "package.module:object"."""
    module, colon, attribute = name.partition(":")
    return bool(module and colon and attribute) and not name.startswith(LIVE)


def give(thing: object) -> str:
    """Let the name of an object stand for it in this process, wherever `declared` looks for its type; the name.

    A later object of the same type and name takes its place. Other processes do not know it.
    """
    name = getattr(thing, "name", "")
    if not isinstance(name, str) or not name:
        raise InputError(f"{type(thing).__name__} has no name; give it one")
    _given.setdefault(type(thing), {})[name] = thing
    return name


def is_given(of: type, name: str) -> bool:
    """Whether this name stands for an object that was given in this process."""
    return name in _given.get(of, {})


def given(of: type[T], name: str) -> T | None:
    """The object of this type and name that was given in this process; None if there is none."""
    found = _given.get(of, {}).get(name)
    return found if isinstance(found, of) else None


def named(what: str, name: str, table: Mapping[str, T]) -> T:
    """The entry of this name; InputError lists the names if there is none. `what` begins it: "format"."""
    if name not in table:
        raise unknown(what, name, sorted(table))
    return table[name]


class Extensions(NamedTuple, Generic[T]):
    """The usable extensions by name, and one error for each broken entry point."""

    found: Mapping[str, T]
    problems: tuple[InputError, ...]


@dataclass(frozen=True)
class ExtensionPoint(Generic[T]):
    """One kind of extension that other distributions may add to; `what` names it in errors ("command").

    Ours are what `package` declares as `attribute`, of type `of`; `group` is the group of the entry points.
    """

    what: str
    package: str
    attribute: str
    group: str
    of: type[T]

    @cached_property
    def ours(self) -> Mapping[str, T]:
        """The extensions of this project only."""
        return _ours(self.package, self.attribute, self.of)

    @cached_property
    def sound(self) -> Extensions[T]:
        """Ours, in the order of their modules, then those of other distributions; broken ones with their errors."""
        found = dict(self.ours)
        problems = []
        for point in installed(self.group):
            try:
                _add(found, self.what, point.source, self._checked(point))
            except InputError as error:
                problems.append(error)
        return Extensions(found, tuple(problems))

    def _checked(self, point: Installed) -> list[T]:
        things = _each(point.load())
        good = [thing for thing in things if isinstance(thing, self.of)]
        if len(good) < len(things):
            strange = next(thing for thing in things if not isinstance(thing, self.of))
            raise InputError(
                f"{point.source} is of type {type(strange).__name__}, not a {self.of.__name__}; see CONTRIBUTING.md"
            )
        return good


def _add(found: dict[str, T], what: str, source: str, things: Sequence[T]) -> None:
    names = [getattr(thing, "name", "") for thing in things]
    for name in names:
        if name in found or names.count(name) > 1:
            raise InputError(f"{source} declares {what} {name!r}, which already exists; rename one of them")
    found |= dict(zip(names, things, strict=True))


@dataclass(frozen=True)
class Installed:
    """An entry point of a distribution, not imported yet."""

    point: EntryPoint

    @property
    def source(self) -> str:
        """The entry point in words, for errors."""
        return f"entry point {self.point.name!r} of group {self.point.group!r}"

    def load(self) -> object:
        """The object that the entry point names; InputError if it cannot be imported."""
        try:
            return self.point.load()
        except (
            Exception,
            SystemExit,
        ) as error:  # importing a third-party package may raise anything
            raise InputError(f"cannot import {self.source}: {type(error).__name__}: {error}") from error


def installed(group: str) -> Iterator[Installed]:
    """The entry points of a group, by name."""
    if not any(_may_name(Path(place), f"[{group}]".encode()) for place in sys.path):
        return  # importlib.metadata takes 50 ms to import; `trex --help` avoids it
    from importlib.metadata import entry_points

    yield from map(Installed, sorted(entry_points(group=group), key=lambda point: point.name))


def _may_name(place: Path, section: bytes) -> bool:
    """Whether metadata in this folder of sys.path has the section; True if the place is no folder (a zip file)."""
    if not place.is_dir():
        return place.exists()
    for name in os.listdir(place):
        points = place / name / "entry_points.txt"
        if name.endswith(METADATA) and points.is_file() and section in points.read_bytes():
            return True
    return False


def _each(things: object) -> tuple[object, ...]:
    return things if isinstance(things, tuple) else (things,)


def _modules(package: str, attribute: str) -> Iterator[ModuleType]:
    """The modules of a package by name, and those of the packages in it that declare nothing themselves."""
    path = importlib.import_module(package).__path__
    for info in sorted(pkgutil.iter_modules(path), key=lambda info: info.name):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package}.{info.name}")
        yield module
        if info.ispkg and not hasattr(module, attribute):
            yield from _modules(module.__name__, attribute)


def import_extra(module: str, extra: str, what: str) -> ModuleType:
    """A module that comes with an extra of ours; InputError with the command that installs it if it is missing.

    `what` begins the message: "--log mlflow needs MLflow".
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        reason = str(error).partition("\n")[0][:300]
        raise InputError(
            f"{what}, which cannot be imported ({reason}); run pip install 'bayes-trex[{extra}]'"
        ) from error
