"""Worlds by name: shipped, installed, or user-defined as `package.module:callable`; and the plan of a query.

A world of the user's own asks the model that a query names, or brings a classifier: a run states its query's model, and
if the world ignored that, every page would name a model that was never asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pydantic import PrivateAttr

from trex.clevr_models.adapters.live import noting_use
from trex.foundation.errors import InputError, TrexError
from trex.foundation.extensions import LIVE, ExtensionPoint, given, is_code
from trex.foundation.json_fields import short
from trex.mnist_models.datasets import ELSEWHERE
from trex.query.schema import Query
from trex.query.toml_file import parse_query, read_text
from trex.worlds.latents import Latent

if TYPE_CHECKING:
    from trex.worlds.world import Plan, World

CLEVR = "clevr"
SHIPPED = "shipped"  # the default of [model] name, which leaves the choice to the world
OWN = "'package.module:callable' for one of your own (docs/how-to/own-world.md)"


@dataclass(frozen=True)
class WorldEntry:
    """A world under the name that [generator] takes.

    Parameters
    ----------
    name : str
        What `[generator] name` says.
    make : callable
        From that name to the world, a `VectorWorld` or a `trex.World` called with it.

    Examples
    --------
    What the entry point `trex.worlds` of a package names::

        WORLDS = (WorldEntry("far-out", lambda name: VectorWorld(name, "Is the dot far out?", "dots", load)),)
    """

    name: str
    make: Callable[[str], World[Latent]]


WORLDS = ExtensionPoint("generator.name", "trex.worlds.shipped", "WORLDS", "trex.worlds", WorldEntry)


def is_shipped(name: str) -> bool:
    """Whether the world of this name ships with trex; any other runs third-party code."""
    return name in WORLDS.ours


def model_shown(query: Query, opened: str) -> str:
    """The model's name for readers: the query's, or that of the classifier of a world that brings its own."""
    is_own = query.model.name == SHIPPED and not is_shipped(query.generator.name)
    return opened if is_own else query.model.name


def world_named(name: str) -> World[Latent]:
    """The world that a query's [generator] names; InputError if there is none."""
    entry = given(WorldEntry, name)
    if entry is not None:
        return _world(name, entry.make)
    if name.startswith(LIVE):
        raise InputError(
            f"world {name!r} is an object of a Python session, which a run folder cannot store; give it again: "
            "trex.open_run(folder, world=...)"
        )
    return _lasting(name)


@cache
def _lasting(name: str) -> World[Latent]:
    """The world of a name that means the same in every process."""
    if is_shipped(name):
        return WORLDS.ours[name].make(name)
    if name in WORLDS.sound.found:
        return _world(name, WORLDS.sound.found[name].make)
    if not is_code(name):
        raise InputError(
            f"generator.name = {name!r} is not known; use {', '.join(WORLDS.sound.found)}, or {OWN}. {ELSEWHERE}"
        )
    from trex.clevr_models.adapters.named_object import import_factory

    return _world(name, import_factory(name))


def _world(name: str, make: Callable[[str], object]) -> World[Latent]:
    """The world that third-party code makes; InputError if it fails, or makes something else."""
    with _in_words(name):
        world = make(name)
    if not all(hasattr(world, part) for part in ("name", "plan", "noun")):
        raise InputError(
            f"generator {name!r} returns a {type(world).__name__}, which is not a world; see {OWN}"
        )
    return cast("World[Latent]", world)


def make_plan(query: Query, query_dir: Path, source: str = "") -> Plan:
    """The plan for a query, after all cheap checks: words, answers, shapes, weights.

    `query_dir` is the folder of the query's file, which errors call `source`. InputError, too, if a world of the
    user's own would not ask the model that the query names.
    """
    try:
        return _planned(query, query_dir)
    except InputError as error:
        if not source or source in str(error):
            raise
        raise InputError(f"{source}: {error}") from error.__cause__


def _planned(query: Query, query_dir: Path) -> Plan:
    name = query.generator.name
    world = world_named(name)
    if is_shipped(name):
        return world.plan(query, query_dir)
    with _in_words(name):
        plan = plan_with_named_model(world.plan, query, query_dir)
        noun, question = world.noun, plan.question
        words = (
            noun.one,
            noun.many,
            world.scope(query),
            question.text,
            *question.possible,
            *plan.bound.labels,
        )
    strange = next((word for word in words if not word.isprintable()), None)
    if strange is not None:
        raise InputError(
            f"generator {name!r} gives the text {short(strange)}; remove its unprintable characters"
        )
    return plan


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    """Errors of a world's own code as InputError."""
    from trex.foundation.own_code import RAISED, error_text

    try:
        yield
    except TrexError:
        raise
    except RAISED as error:  # third-party code may raise anything, or end the program
        raise InputError(f"generator {name!r} fails: {error_text(error)}") from error


class _Watched(Query):
    """A query that notes when its section [model] is read, and its copies with it."""

    _reads: list[str] = PrivateAttr(default_factory=list)

    def __getattribute__(self, name: str) -> object:
        if name == "model":
            self._reads.append(name)
        return super().__getattribute__(name)


def plan_with_named_model(plan: Callable[[Query, Path], Plan], query: Query, query_dir: Path) -> Plan:
    """The plan that a world makes; InputError if the query names a model and the world does not look at it.

    An object of the session has to be taken, any other model's name has to be read.
    """
    name = query.model.name
    watched = _Watched.model_construct(query.model_fields_set, **vars(query))
    with noting_use() as used:
        found = plan(watched, query_dir)
    is_used = bool(used) if name.startswith(LIVE) else bool(watched._reads)
    if name != SHIPPED and not is_used:
        raise InputError(
            f"generator {query.generator.name!r} has a classifier of its own ({found.model_name!r}) and would not ask "
            f"model {name!r}; leave the model out, or let the world's code open what "
            "query.model.name names"
        )
    return replace(found, query=_plain(found.query))


def _plain(query: Query) -> Query:
    if type(query) is not _Watched:
        return query
    return Query.model_construct(query.model_fields_set, **vars(query))


def check(path: Path, overrides: Sequence[str] = ()) -> Plan:
    """The plan for a query file, with every value checked; renders and writes nothing."""
    return make_plan(parse_query(read_text(path), str(path), overrides), path.parent, str(path))
