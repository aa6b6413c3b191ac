"""The objects in modules ("package.module:object") that a query names besides its world and its model."""

from __future__ import annotations

from trex.foundation.extensions import is_code
from trex.query.schema import Query

WORLD, TARGET, KERNEL, PRESET = "generator.name", "target.kind", "search.kernel", "render.preset"


def code_of(query: Query) -> tuple[tuple[str, str], ...]:
    """The keys of a query that name such an object, and these names."""
    rows = ((TARGET, query.target.kind), (KERNEL, query.search.kernel), (PRESET, query.render.preset))
    return tuple((key, name) for key, name in rows if is_code(name))
