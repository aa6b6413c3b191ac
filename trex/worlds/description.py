"""The small value types that a world returns: nouns, judgments, outlines, and what a run depends on.

A world has two halves: one opens it for a query, the other reads a run's draws without model or renderer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple

from pydantic import AliasChoices, Field

from trex.inference.types import Draw
from trex.query.schema import Section
from trex.worlds.latents import Latent

Summary = Callable[[Draw[Latent]], float]
Chains = Sequence[Sequence[Draw[Latent]]]


class Noun(NamedTuple):
    """The word for a rendered latent, singular and plural."""

    one: str
    many: str

    def distinct(self, n: int) -> str:
        """The count with its noun: "1 distinct scene", "7 distinct scenes"."""
        return f"{n} distinct {self.one if n == 1 else self.many}"


class Judgment(NamedTuple):
    """The true answer, None if unknown, and whether the model's answer is wrong, None if that is unknown."""

    truth: str | None
    is_wrong: bool | None


NOT_KNOWN = Judgment(None, None)


class Known(NamedTuple):
    """What a world knows of a data folder's picture: its true answer, and whether the query's world could have it."""

    truth: str | None
    is_possible: bool | None


class Outline(NamedTuple):
    """The world's content and its rendering, in words."""

    world: str
    renders: str


# The answers to the probe pictures, of a model whose weights are out of reach; `tried` in files of earlier versions.
ProbeProbabilities = Annotated[
    tuple[float, ...], Field(validation_alias=AliasChoices("probe_probabilities", "tried"))
]


class Provenance(Section):
    """Names and hashes that the draws depend on; a run can be resumed only if all of them are unchanged.

    `leader` is the key of the analytic look where it leads; "" where it does not, and in runs of before.
    """

    model: str
    probe_probabilities: ProbeProbabilities = ()
    renderer: str
    leader: str = ""
    shapes: dict[str, str] = Field(default_factory=dict)
