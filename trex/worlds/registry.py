"""Worlds by name: shipped, installed, or user-defined as `package.module:callable`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

from trex.foundation.errors import InputError
from trex.foundation.extensions import ExtensionPoint

if TYPE_CHECKING:
    from pathlib import Path

    from trex.query.schema import Query
    from trex.worlds.world import Plan, World

CLEVR = "clevr"
SHIPPED = "shipped"  # the default of [model] name, which leaves the choice to the world
LOADED: dict[str, World] = {}  # worlds that are not shipped, loaded in this process to run a query
OWN = "'package.module:callable' for one of your own (docs/DIGITS.md)"


@dataclass(frozen=True)
class WorldEntry:
    """A world under the name that [generator] takes; `make` receives that name."""

    name: str
    make: Callable[[str], World]


WORLDS = ExtensionPoint("generator.name", "trex.worlds.shipped", "WORLDS", "trex.worlds", WorldEntry)


def is_shipped(name: str) -> bool:
    """Whether the world of this name ships with trex; any other runs third-party code."""
    return name in WORLDS.ours


def model_shown(query: Query, opened: str) -> str:
    """The model's name for readers: the query's, or that of the classifier of a world that brings its own."""
    is_own = query.model.name == SHIPPED and not is_shipped(query.generator.name)
    return opened if is_own else query.model.name


@cache
def world_named(name: str) -> World:
    """The world that a query's [generator] names; InputError if there is none."""
    if is_shipped(name):
        return WORLDS.ours[name].make(name)
    if name in WORLDS.known:
        LOADED[name] = WORLDS.known[name].make(name)
        return LOADED[name]
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise InputError(f"generator.name = {name!r} is not known; use {', '.join(WORLDS.known)}, or {OWN}")
    return _own(name, module, attribute)


def _own(name: str, module: str, attribute: str) -> World:
    from trex.clevr_models.adapters.named_object import import_factory

    make = import_factory(module, attribute)
    try:
        world = make(name)
    except InputError:
        raise
    except Exception as error:  # third-party code may raise anything
        raise InputError(f"generator {name!r} fails: {type(error).__name__}: {error}") from error
    if not all(hasattr(world, part) for part in ("name", "plan", "noun")):
        raise InputError(
            f"generator {name!r} returns a {type(world).__name__}, which is not a world; see {OWN}"
        )
    LOADED[name] = cast("World", world)
    return LOADED[name]


def make_plan(query: Query, query_dir: Path) -> Plan:
    """The plan for a query, after all cheap checks: words, answers, shapes, weights.

    `query_dir` is the folder of the query's file. InputError, too, if a world of the user's own would not ask the
    model that the query names.
    """
    name = query.generator.name
    plan = world_named(name).plan
    if is_shipped(name):
        return plan(query, query_dir)
    from trex.worlds.named_model import plan_with_named_model

    return plan_with_named_model(plan, query, query_dir)
