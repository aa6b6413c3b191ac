"""The engine of a search: the protocol, and one that runs in this process with all chains in one render batch.

A search decides and its engine does the work. Every engine yields the same records in the same order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Protocol, TypeVar, cast

from trex.bank.bank import Bank, bank_of
from trex.inference.chains import Checkpoint
from trex.inference.rng import BANK_STREAM, PRIOR_STREAM
from trex.inference.scoring import Scorer
from trex.inference.statistics.importance import independent_draws, prior_draw
from trex.inference.targets import GaussianTarget
from trex.inference.types import Picture as Rendered
from trex.inference.types import Prior
from trex.query.schema import Query
from trex.render.ahead import drawers, drawn_ahead
from trex.render.blender.blender_renderer import default_processes
from trex.render.picture import Picture
from trex.render.presets import ANALYTIC
from trex.render.renderer import SceneRenderer
from trex.runs.folder import RunFolder
from trex.runs.pictures import store_picture
from trex.runs.record import Record
from trex.runs.replay import SavePicture, independent_record, round_records
from trex.scenes.prior import ScenePrior
from trex.scenes.scene import Scene
from trex.worlds.kernels import chain_rounds
from trex.worlds.latents import Latent
from trex.worlds.looks import DECIDING
from trex.worlds.world import OpenWorld

T = TypeVar("T")
BATCH = 8  # prior scenes between two decisions; constant, so that any machine can resume a run


@dataclass(frozen=True)
class Independent:
    """Draws of one phase at one look that are no steps of chains.

    `zs` maps an index to its latent; without it, the draws are the prior's, by `seed` and index, or the bank's members
    if `is_banked`. With both, `zs` are members of the bank with this seed, whose pictures are kept for other queries
    of its world while there is room. `rank` is the look's place in the ladder.
    """

    phase: str
    look: str = DECIDING
    rank: int = 0
    seed: int = 0
    zs: Mapping[int, Latent] | None = None
    is_banked: bool = False

    def points(self, indices: range, prior: Prior[Latent], processes: int) -> Generator[tuple[Latent, float]]:
        """Yield the latents of these indices with their log prior densities; many crowded scenes by other processes."""
        kind = BANK_STREAM if self.is_banked else PRIOR_STREAM
        if self.zs is not None:
            yield from ((self.zs[index], prior.log_density(self.zs[index])) for index in indices)
        elif isinstance(prior, ScenePrior) and (n := drawers(prior, len(indices), processes)):
            with closing(drawn_ahead(partial(_scene, self.seed, prior, kind), indices, n)) as drawn:
                yield from ((scene, prior.log_density(scene)) for _, scene in drawn)
        else:
            yield from (prior_draw(self.seed, index, prior, kind) for index in indices)

    def of(self, indices: range) -> Independent:
        """The same with the latents of these indices alone."""
        return self if self.zs is None else replace(self, zs={index: self.zs[index] for index in indices})


class Engine(Protocol):
    """Does the work that a search asks for; a search that has enough closes the iterator."""

    def draws(self, what: Independent, indices: range, most: int) -> Iterator[Sequence[Record]]:
        """Yield the draws of these indices in order, in batches; indices below `most` may be requested next."""
        ...

    def rounds(
        self,
        phase: str,
        target: GaussianTarget,
        begin: Checkpoint[Latent],
        n_rounds: int,
        lead: str = DECIDING,
    ) -> Iterator[Sequence[Record]]:
        """Yield one step of every chain at a time, in the order of the chains, up to index n_rounds - 1."""
        ...


@dataclass(frozen=True)
class Lent:
    """A renderer that its borrower cannot close."""

    renderer: SceneRenderer

    @property
    def key(self) -> str:
        """The renderer's key."""
        return self.renderer.key

    def render(self, zs: Sequence[Scene]) -> list[Picture]:
        """The renderer's pictures."""
        return self.renderer.render(zs)

    def close(self) -> None:
        """Do nothing: it belongs to its world."""


@dataclass(frozen=True)
class InProcess:
    """Works in this process, each time the next records are requested; saves pictures in the run folder.

    Seed and target come from the run: its world may have been opened for another search.
    """

    world: OpenWorld
    folder: RunFolder

    def draws(self, what: Independent, indices: range, most: int) -> Iterator[Sequence[Record]]:
        """Yield the draws, one render batch for each batch; the pictures of a bank come from there."""
        scorer = self.world.scorer_at(what.look)
        if not what.is_banked or what.look == ANALYTIC:  # 13 ms each: not worth the disk
            yield from self._draws(what, indices, scorer)
            return
        is_optional = what.zs is not None  # the search does not need to keep them
        with open_bank(self.world, what.look, what.seed, is_optional=is_optional) as bank:
            yield from self._draws(what, indices, replace(scorer, renderer=bank.renderer))

    def _draws(self, what: Independent, indices: range, scorer: Scorer[Latent]) -> Iterator[Sequence[Record]]:
        manifest, prior = self.folder.manifest, self.world.plan.prior
        target, parts = manifest.target, batches(indices, batch_size(manifest.query))
        processes = manifest.query.render.processes or default_processes()
        # Blender's pictures are not made ahead: Ctrl-C would have to wait for those that are under way.
        is_shaded = (what.look or manifest.query.render.preset) == ANALYTIC

        def made(batch: range) -> tuple[list[tuple[Latent, float]], list[Rendered] | None]:
            points = list(islice(drawn, len(batch)))
            return points, scorer.render([z for z, _ in points]) if is_shaded else None

        with (
            closing(what.points(indices, prior, processes)) as drawn,
            closing(ahead(made, parts) if is_shaded else (made(batch) for batch in parts)) as each,
        ):
            for batch, (points, pictures) in zip(parts, each, strict=True):
                draws = independent_draws(batch, points, scorer, target, pictures)
                yield [independent_record(what.phase, draw, target, self._keep, what.rank) for draw in draws]

    def rounds(
        self,
        phase: str,
        target: GaussianTarget,
        begin: Checkpoint[Latent],
        n_rounds: int,
        lead: str = DECIDING,
    ) -> Iterator[Sequence[Record]]:
        """Yield the rounds, one render batch for each round."""
        for done in chain_rounds(self.world, target, begin, n_rounds, lead):
            yield round_records(phase, done, target, self._keep)

    @property
    def _keep(self) -> SavePicture:
        return keep_in(self.folder)


def open_bank(world: OpenWorld, look: str, seed: int, *, is_optional: bool) -> Bank:
    """The bank of an open world at a look, rendered by the world's own renderer; `is_optional` as for `bank_of`."""
    section = world.plan.query.render
    if look != DECIDING:
        section = section.model_copy(update={"preset": look})
    lent = Lent(cast(SceneRenderer, world.renderer_at(look)))
    return bank_of(world.plan, section, seed=seed, renderer=lent, is_optional=is_optional)


def _scene(seed: int, prior: ScenePrior, purpose: int, index: int) -> Scene:
    return prior_draw(seed, index, prior, purpose)[0]


def ahead(function: Callable[[range], T], batches: Sequence[range]) -> Generator[T]:
    """The function of each batch in order; while one is in use, that of the next is worked out in a thread."""
    with ThreadPoolExecutor(1) as pool:
        under_way = deque(pool.submit(function, batch) for batch in batches[:1])
        for batch in batches[1:]:
            done = under_way.popleft().result()
            under_way.append(pool.submit(function, batch))
            yield done
        yield from (last.result() for last in under_way)


def keep_in(folder: RunFolder) -> SavePicture:
    """A function that saves a picture in the run folder and returns its name there."""
    return partial(store_picture, folder)


def batch_size(query: Query) -> int:
    """Prior scenes between two decisions; depends on the query, never on the machine."""
    return max(BATCH, 2 * (query.render.processes or 0))


def batches(indices: range, size: int) -> list[range]:
    """The indices, `size` at a time."""
    return [indices[at : at + size] for at in range(0, len(indices), size)]
