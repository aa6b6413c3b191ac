"""Kinds of worlds by name: a new one is one file and a line here, or a module of the user's own."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, cast

from trex.foundation.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from trex.query.schema import Query
    from trex.worlds.world import Plan, World

CLEVR = "clevr"
WORLDS: Mapping[str, str] = {  # the module whose function `kind` makes it
    CLEVR: "trex.worlds.clevr",
    "mnist-vae": "trex.worlds.digits",
    "mnist-gan": "trex.worlds.digits",
    "fashion-vae": "trex.worlds.digits",
    "fashion-gan": "trex.worlds.digits",
}
LOADED: dict[str, World] = {}  # of somebody's own, loaded in this process to carry a query out
OWN = "'package.module:callable' for one of your own (docs/DIGITS.md)"


@cache
def world_named(name: str) -> World:
    """The kind of world that a query's [generator] names; InputError where there is none."""
    if name in WORLDS:
        return cast("World", importlib.import_module(WORLDS[name]).kind(name))
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise InputError(f"generator.name = {name!r} is not known; use {', '.join(WORLDS)}, or {OWN}")
    return _own(name, module, attribute)


def _own(name: str, module: str, attribute: str) -> World:
    from trex.clevr_models.catalog import import_factory

    make = cast(Callable[[str], object], import_factory(module, attribute))
    try:
        kind = make(name)
    except InputError:
        raise
    except Exception as error:  # a user's module may raise anything
        raise InputError(f"generator {name!r} fails: {type(error).__name__}: {error}") from error
    if not all(hasattr(kind, part) for part in ("name", "plan", "noun")):
        raise InputError(f"generator {name!r} gives a {type(kind).__name__}, no kind of world; see {OWN}")
    LOADED[name] = cast("World", kind)
    return LOADED[name]


def make_plan(query: Query, query_dir: Path) -> Plan:
    """Checks all that is cheap: words, answers, shapes, weights. `query_dir` is the folder of the query's file."""
    return world_named(query.generator.name).plan(query, query_dir)
