"""What the harness asks of a kind of world: one file a kind, and nothing else knows which it is.

The first half opens a world for a query. The second half reads the draws of a run, without model or renderer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from trex.inference.types import Draw
from trex.worlds.latents import Latent

if TYPE_CHECKING:  # they know kinds of worlds
    from trex.datasets.examples import Example, Examples
    from trex.explain.explanation import Explanation
    from trex.query.schema import Query
    from trex.report.patterns import Commonalities
    from trex.runs.folder import RunFolder
    from trex.runs.manifest import Manifest
    from trex.runs.record import Record
    from trex.search.results import Findings, FoundScene
    from trex.worlds.plan import Plan, World

Summary = Callable[[Draw[Latent]], float]
Array = NDArray[np.float64] | NDArray[np.str_] | NDArray[np.bool_]
Chains = Sequence[Sequence[Draw[Latent]]]


class Noun(NamedTuple):
    """What a latent is called once it is rendered: one, and several."""

    one: str
    many: str

    def distinct(self, n: int) -> str:
        """ "1 distinct scene", "7 distinct scenes"."""
        return f"{n} distinct {self.one if n == 1 else self.many}"


class Judgment(NamedTuple):
    """The true answer, None where nobody knows it; and whether the model's is wrong, None where that is not known."""

    truth: str | None
    is_wrong: bool | None


NOT_KNOWN = Judgment(None, None)


@dataclass(frozen=True)
class Table:
    """What a latent consists of, for its card in the report: rows of a name and numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Outline(NamedTuple):
    """What may exist, and how it is rendered, in words."""

    world: str
    renders: str


class Variable(NamedTuple):
    """A variable of every draw for ArviZ: (chains, draws, ...) and names of the dimensions after the first two."""

    values: Array
    dims: tuple[str, ...] = ()


class WorldKind(Protocol):
    """A kind of world: CLEVR's scenes, the digits of a decoder, or one of the user's own."""

    @property
    def name(self) -> str:
        """As the query names it in [generator]."""
        ...

    @property
    def noun(self) -> Noun:
        """What is found."""
        ...

    @property
    def has_scenes(self) -> bool:
        """Whether its latents are scenes of objects, which can be left out, changed, masked and named."""
        ...

    @property
    def rule(self) -> str:
        """When two latents count as distinct, as a sentence."""
        ...

    def plan(self, query: Query, beside: Path) -> Plan:
        """Checks all that is cheap, every word of the query too; `beside` is the folder of its file."""
        ...

    def open(self, plan: Plan) -> World:
        """The plan with its renderer."""
        ...

    def model_key(self, plan: Plan) -> str:
        """The model's name and what changes with its weights."""
        ...

    def examples(self, plans: Sequence[Plan], folder: Path, splits: tuple[str, ...]) -> Examples:
        """The pictures of a data folder for these queries of this kind; InputError where there are none."""
        ...

    def holds(self, plan: Plan, example: Example) -> bool | None:
        """Whether the example could be of the query's world; None where nobody knows."""
        ...

    def outline(self, plan: Plan) -> Outline:
        """What `trex check` says of world and renders."""
        ...

    def scope(self, query: Query) -> str:
        """The query's world in a few words: "5 objects, no cube", "digits that mnist-vae draws"."""
        ...

    def are_distinct(self, one: Latent, other: Latent) -> bool:
        """Whether both count, see `rule`."""
        ...

    def words(self, z: Latent) -> str:
        """The latent in words, for those who do not see its picture."""
        ...

    def judge(self, manifest: Manifest, z: Latent, answer: str) -> Judgment:
        """Whether the model's most probable answer is right."""
        ...

    def remarks(self, manifest: Manifest) -> tuple[str, ...]:
        """What has to be said of this world whatever was found, as sentences."""
        ...

    def summaries(self, manifest: Manifest, like: Latent) -> Mapping[str, Summary]:
        """Numbers of a whole draw that convergence is judged by; `like` is any latent of the run."""
        ...

    def checks(self, manifest: Manifest, records: Sequence[Record]) -> tuple[str, ...]:
        """What a second look at the draws says of the renderer, as sentences."""
        ...

    def variables(self, manifest: Manifest, chains: Chains) -> Mapping[str, Variable]:
        """The latents themselves, for ArviZ."""
        ...

    def parts(self, z: Latent) -> tuple[str, ...]:
        """The parts of a latent in words, by which a report can be searched; none where it has none."""
        ...

    def table(self, record: Record) -> Table:
        """What a record's latent consists of."""
        ...

    def common(
        self, manifest: Manifest, findings: Findings, explanations: Mapping[str, Explanation]
    ) -> Commonalities | None:
        """What the found latents have in common; None where they have no parts."""
        ...

    def write_files(self, folder: RunFolder, found: Sequence[FoundScene]) -> Mapping[str, str]:
        """Files of its own beside the findings, by name, and what each holds in words."""
        ...
