"""Extensions by name: each is a module that declares itself, in a package of this project or installed separately.

An `ExtensionPoint` finds one kind of extension, such as targets. Ours are the modules of one package that declare its
attribute; adding a file adds an extension. Other distributions add theirs by an entry point
(https://packaging.python.org/specifications/entry-points/) in its group. Only installed code is imported, so
a name in a foreign query or run folder never runs code of its author.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from trex.foundation.errors import InputError, unknown

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")
METADATA = (".dist-info", ".egg-info")


class Extensions(NamedTuple, Generic[T]):
    """The usable extensions by name, and one error for each broken entry point."""

    found: Mapping[str, T]
    problems: tuple[InputError, ...]


@dataclass(frozen=True)
class ExtensionPoint(Generic[T]):
    """One kind of extension.

    `what` names it in errors ("target kind"). A module of ours, in the dotted `package` or in a package below it,
    declares as `attribute` one extension of type `of`, or a tuple of them; each has a `name`. `group` is the group of
    the entry points.
    """

    what: str
    package: str
    attribute: str
    group: str
    of: type[T]

    def named(self, name: str) -> T:
        """The extension of this name; InputError lists the existing names if there is none.

        A broken entry point matters only if the name is not found without it.
        """
        found, problems = self.sound
        if name not in found:
            raise unknown(self.what, name, sorted(found), "; ".join(map(str, problems)))
        return found[name]

    @property
    def all(self) -> Mapping[str, T]:
        """Every extension by its name: ours in the order of their modules, then those of other distributions.

        InputError if an entry point cannot be imported, declares something else, or takes a name that is in use.
        """
        found, problems = self.sound
        if problems:
            raise problems[0]
        return found

    @property
    def known(self) -> Mapping[str, T]:
        """As `all`, but without broken entry points."""
        return self.sound.found

    @cached_property
    def ours(self) -> Mapping[str, T]:
        """The extensions of this project only."""
        found: dict[str, T] = {}
        for module in _modules(self.package, self.attribute):
            declared = _each(getattr(module, self.attribute, ()))
            self._add(found, module.__name__, [one for one in declared if isinstance(one, self.of)])
        return found

    @cached_property
    def sound(self) -> Extensions[T]:
        """As `all`, but without broken entry points, which are listed with their errors."""
        found = dict(self.ours)
        problems = []
        for point in installed(self.group):
            try:
                self._add(found, point.source, self._checked(point))
            except InputError as error:
                problems.append(error)
        return Extensions(found, tuple(problems))

    def _checked(self, point: Installed) -> list[T]:
        declared = _each(point.load())
        good = [one for one in declared if isinstance(one, self.of)]
        if len(good) < len(declared):
            strange = next(one for one in declared if not isinstance(one, self.of))
            raise InputError(
                f"{point.source} is a {type(strange).__name__}, not a {self.of.__name__}; see CONTRIBUTING.md"
            )
        return good

    def _add(self, found: dict[str, T], source: str, declared: list[T]) -> None:
        names = [getattr(one, "name", "") for one in declared]
        for name in names:
            if name in found or names.count(name) > 1:
                raise InputError(
                    f"{source} declares {self.what} {name!r}, which already exists; rename one of them"
                )
        found |= dict(zip(names, declared, strict=True))


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


def _each(declared: object) -> tuple[object, ...]:
    return declared if isinstance(declared, tuple) else (declared,)


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
