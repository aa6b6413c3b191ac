"""What the draws of a run depend on, by name and hash."""

from __future__ import annotations

from pydantic import Field

from trex.query.schema import Section


class Provenance(Section):
    """Names and hashes that the draws depend on; a run can be resumed only if all of them are unchanged."""

    model: str
    # for a model whose weights are out of reach: its answers to the probe pictures
    probe_probabilities: tuple[float, ...] = ()
    renderer: str
    shapes: dict[str, str] = Field(default_factory=dict)
