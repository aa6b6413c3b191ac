"""Extensions by name: each is one module that declares itself, ours in a package of this project, others installed.

A road knows one kind of extension, such as targets. Ours are the modules of one package that declare the road's
attribute; to add one is to add a file. Another distribution adds its own by an entry point
(https://packaging.python.org/specifications/entry-points/) in the road's group. Nothing is imported that is not
installed, so a name in a query or a run folder of somebody else runs no code of theirs.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Generic, TypeVar

from trex.foundation.errors import InputError, unknown

T = TypeVar("T")


@dataclass(frozen=True)
class Road(Generic[T]):
    """One kind of extension.

    `what` names it in errors ("target kind"). A module of ours, in the dotted `package`, declares as `attribute` one
    extension of type `of`, or a tuple of them; each has a `name`. `group` is the group of the entry points.
    """

    what: str
    package: str
    attribute: str
    group: str
    of: type[T]

    def named(self, name: str) -> T:
        """The extension of this name; InputError, with the names there are, if there is none."""
        if name not in self.all:
            raise unknown(self.what, name, sorted(self.all))
        return self.all[name]

    @cached_property
    def all(self) -> Mapping[str, T]:
        """Every extension by its name: ours in the order of their modules, then those of other distributions.

        InputError if an entry point cannot be imported, declares something else, or takes a name that is in use.
        """
        return self._by_name((*self._declared(), *self._installed()))

    @cached_property
    def ours(self) -> Mapping[str, T]:
        """Those of this project alone."""
        return self._by_name(self._declared())

    def _by_name(self, declared: Iterable[tuple[str, T]]) -> Mapping[str, T]:
        found: dict[str, T] = {}
        for source, one in declared:
            name = getattr(one, "name", "")
            if name in found:
                raise InputError(
                    f"{source} declares {self.what} {name!r}, which is declared already; rename it"
                )
            found[name] = one
        return found

    def _declared(self) -> Iterator[tuple[str, T]]:
        for module in _modules(self.package):
            declared = getattr(module, self.attribute, ())
            for one in declared if isinstance(declared, tuple) else (declared,):
                if isinstance(one, self.of):
                    yield module.__name__, one

    def _installed(self) -> Iterator[tuple[str, T]]:
        for point in sorted(entry_points(group=self.group), key=lambda point: point.name):
            source = f"entry point {point.name!r} of group {self.group!r}"
            declared = _load(point, source)
            for one in declared if isinstance(declared, tuple) else (declared,):
                if not isinstance(one, self.of):
                    raise InputError(
                        f"{source} is a {type(one).__name__}, not a {self.of.__name__}; see CONTRIBUTING.md"
                    )
                yield source, one


def _modules(package: str) -> Iterator[ModuleType]:
    path = importlib.import_module(package).__path__
    for name in sorted(info.name for info in pkgutil.iter_modules(path) if not info.name.startswith("_")):
        yield importlib.import_module(f"{package}.{name}")


def _load(point: EntryPoint, source: str) -> object:
    try:
        return point.load()
    except Exception as error:  # an installed package may raise anything while it is imported
        raise InputError(f"{source} cannot be imported: {type(error).__name__}: {error}") from error
