"""Who carries out the work of a search: here this process, all chains in one render batch.

A search decides, its engine carries out. Whatever the engine, the same records come in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from trex.inference.chains import Checkpoint
from trex.inference.statistics.importance import prior_draws
from trex.inference.targets import GaussianTarget
from trex.query.schema import Query
from trex.runs.folder import RunFolder
from trex.runs.pictures import keep_picture
from trex.runs.record import Record
from trex.runs.replay import Keep, prior_record, round_records
from trex.worlds.latents import Latent
from trex.worlds.world import OpenWorld

BATCH = 8  # prior scenes between two decisions; the same on every machine, so that any of them can resume


class Engine(Protocol):
    """Carries out what a search asks for; a search that has seen enough closes the iterator."""

    def prior(self, indices: range, most: int) -> Iterator[Sequence[Record]]:
        """The prior draws of these indices in order, in batches; indices below `most` may be asked for next."""
        ...

    def rounds(
        self, phase: str, target: GaussianTarget, begin: Checkpoint[Latent], n_rounds: int
    ) -> Iterator[Sequence[Record]]:
        """Steps up to index n_rounds - 1: one step of every chain at a time, in the order of the chains."""
        ...


@dataclass(frozen=True)
class InProcess:
    """Does everything here and now, when the next records are asked for; pictures go into the run folder.

    Seed and target are the run's own: the world may have been opened for another search in it.
    """

    world: OpenWorld
    folder: RunFolder

    def prior(self, indices: range, most: int) -> Iterator[Sequence[Record]]:
        """See `Engine`; one render batch a batch."""
        query, target = self.folder.manifest.query, self.folder.manifest.target
        prior, scorer = self.world.generator.prior, self.world.scorer
        for batch in batches(indices, batch_size(query)):
            draws = prior_draws(query.search.seed, batch, prior, scorer, target)
            yield [prior_record(draw, target, self._keep) for draw in draws]

    def rounds(
        self, phase: str, target: GaussianTarget, begin: Checkpoint[Latent], n_rounds: int
    ) -> Iterator[Sequence[Record]]:
        """See `Engine`; one render batch a round."""
        for done in self.world.rounds(target, begin, n_rounds):
            yield round_records(phase, done, target, self._keep)

    @property
    def _keep(self) -> Keep:
        return keep_in(self.folder)


def keep_in(folder: RunFolder) -> Keep:
    """Saves a picture into the run folder and gives its name there."""
    return partial(keep_picture, folder)


def batch_size(query: Query) -> int:
    """Prior scenes between two decisions: a property of the query, never of the machine."""
    return max(BATCH, 2 * (query.render.processes or 0))


def batches(indices: range, size: int) -> list[range]:
    """The indices, `size` at a time."""
    return [indices[at : at + size] for at in range(0, len(indices), size)]
