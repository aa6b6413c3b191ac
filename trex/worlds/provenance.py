"""What the draws of a run depend on, by name and hash."""

from __future__ import annotations

from typing import Annotated

from pydantic import AliasChoices, Field

from trex.query.schema import Section

# The answers to the probe pictures, of a model whose weights are out of reach; `tried` in files of earlier versions.
ProbeProbabilities = Annotated[
    tuple[float, ...], Field(validation_alias=AliasChoices("probe_probabilities", "tried"))
]


class Provenance(Section):
    """Names and hashes that the draws depend on; a run can be resumed only if all of them are unchanged."""

    model: str
    probe_probabilities: ProbeProbabilities = ()
    renderer: str
    shapes: dict[str, str] = Field(default_factory=dict)
