"""Whether a world of the user's own asks the model that a query names, or brings a classifier and never looks.

A run states its query's model. If the world ignores that, every page names a model that was never asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import PrivateAttr

from trex.clevr_models.adapters.live import PREFIX, noting_use
from trex.foundation.errors import InputError
from trex.query.schema import Query
from trex.worlds.registry import SHIPPED

if TYPE_CHECKING:
    from trex.worlds.world import Plan


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
    is_asked = bool(used) if name.startswith(PREFIX) else bool(watched._reads)
    if name != SHIPPED and not is_asked:
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
