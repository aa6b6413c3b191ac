"""Worlds by name: shipped, installed, or user-defined as `package.module:callable`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, cast

from trex.foundation.errors import InputError, TrexError
from trex.foundation.extensions import ExtensionPoint
from trex.foundation.json_fields import short
from trex.mnist_models.datasets import ELSEWHERE
from trex.worlds.latents import Latent

if TYPE_CHECKING:
    from pathlib import Path

    from trex.query.schema import Query
    from trex.worlds.world import Plan, World

CLEVR = "clevr"
SHIPPED = "shipped"  # the default of [model] name, which leaves the choice to the world
OWN = "'package.module:callable' for one of your own (docs/DIGITS.md)"


@dataclass(frozen=True)
class WorldEntry:
    """A world under the name that [generator] takes; `make` receives that name."""

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


@cache
def world_named(name: str) -> World[Latent]:
    """The world that a query's [generator] names; InputError if there is none."""
    if is_shipped(name):
        return WORLDS.ours[name].make(name)
    if name in WORLDS.sound.found:
        return _made(name, WORLDS.sound.found[name].make)
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise InputError(
            f"generator.name = {name!r} is not known; use {', '.join(WORLDS.sound.found)}, or {OWN}. {ELSEWHERE}"
        )
    from trex.clevr_models.adapters.named_object import import_factory

    return _made(name, import_factory(module, attribute))


def _made(name: str, make: Callable[[str], object]) -> World[Latent]:
    """The world that third-party code makes; InputError if it fails, or makes something else."""
    with _in_words(name):
        world = make(name)
    if not all(hasattr(world, part) for part in ("name", "plan", "noun")):
        raise InputError(
            f"generator {name!r} returns a {type(world).__name__}, which is not a world; see {OWN}"
        )
    return cast("World[Latent]", world)


def make_plan(query: Query, query_dir: Path) -> Plan:
    """The plan for a query, after all cheap checks: words, answers, shapes, weights.

    `query_dir` is the folder of the query's file. InputError, too, if a world of the user's own would not ask the
    model that the query names.
    """
    name = query.generator.name
    world = world_named(name)
    if is_shipped(name):
        return world.plan(query, query_dir)
    from trex.worlds.named_model import plan_with_named_model

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
    strange = next((one for one in words if not one.isprintable()), None)
    if strange is not None:
        raise InputError(
            f"generator {name!r} gives the text {short(strange)}; remove its unprintable characters"
        )
    return plan


@contextmanager
def _in_words(name: str) -> Iterator[None]:
    """Errors of a world's own code as InputError."""
    from trex.clevr_models.adapters.callable_model import RAISED, error_text

    try:
        yield
    except TrexError:
        raise
    except RAISED as error:  # third-party code may raise anything, or end the program
        raise InputError(f"generator {name!r} fails: {error_text(error)}") from error
