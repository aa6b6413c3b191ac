"""What the draws of a run depend on, by name and hash."""

from __future__ import annotations

from pydantic import Field

from trex.query.schema import Section


class Provenance(Section):
    """What the draws depend on; a run goes on only where all of it is the same."""

    model: str
    tried: tuple[
        float, ...
    ] = ()  # of a model whose weights are not seen: its answers to pictures it was tried on
    renderer: str
    shapes: dict[str, str] = Field(default_factory=dict)
