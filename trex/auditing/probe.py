"""A search from the known failures of a family: scenes like them, and how many of these fail in the same way.

A known failure is changed, in one of four ways, until the family's conditions hold in a valid scene; the model is
asked about it at the deciding look as in the sweep. The shares say how far a failure reaches around those that are
known; they are no rates in the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from trex.auditing.examine import PROBING, Asker
from trex.auditing.judging.membership import ExaminedScene
from trex.auditing.options import MAX_PROBED
from trex.auditing.records import Probed
from trex.families.family import Family, fresh_members
from trex.inference.rng import AUDIT_STREAM, stream
from trex.inference.scoring import images
from trex.inference.statistics.clustered import clustered_share
from trex.inference.statistics.proportion import Proportion
from trex.render.renderer import SceneRenderer
from trex.scenes.moves.block_moves import JitterObject, Mixture, RedrawObjects, SwapObjects
from trex.scenes.noise import fresh_draws
from trex.scenes.prior import draw_noise, draw_nuisances
from trex.scenes.scene import NUISANCES, Scene
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import Vocabulary
from trex.trials.lines import Rows

Change = Callable[[np.random.Generator, Scene], Scene]
OBJECTS = "objects"  # the way in which objects change
STEPS = 2  # moves of objects between a known failure and a new scene
TRIES = 30  # changed scenes, until the conditions hold in one that is valid
FIRST = 1 << 40  # numbers of scenes with changed objects, for their questions: no bank has as many members


@dataclass(frozen=True)
class Prober:
    """A renderer at the deciding look, and the model; `probed` scenes of each family are made in each way."""

    renderer: SceneRenderer
    asker: Asker
    probed: int

    def probe(
        self, number: int, family: Family, members: Sequence[tuple[int, Scene]], log: Rows[Probed]
    ) -> None:
        """Probe family `number` from its known failures, each with its number in the bank, from where the log ends."""
        done = sum(row.family == number for row in log.values)
        for at in range(done, self.probed * len(CHANGES) if members else 0):
            round_, way = divmod(at, len(CHANGES))
            log.append(
                [self._row(number, family, members[round_ % len(members)], round_, list(CHANGES)[way])]
            )

    def _row(self, number: int, family: Family, member: tuple[int, Scene], round_: int, way: str) -> Probed:
        """One probe; where the objects stay, the questions are those of the known failure."""
        known, scene = member
        place = list(CHANGES).index(way)
        rng = stream(self.asker.seed, AUDIT_STREAM, PROBING, number, round_, place)
        asked_as = FIRST + number * MAX_PROBED + round_ if way == OBJECTS else known
        start = fresh_draws(scene, 1)[0]
        request = partial(self.asker.asked, number=asked_as)
        changed = self._changed(rng, start, way)
        facts = next(fresh_members(family, changed, self.asker.vocabulary, request), None)
        if facts is None:
            return Probed(number, way, known, None)
        (image,) = images(self.renderer.render([facts.scene]))
        seen = self.asker.examine(facts, image, asked_as)
        failed, *_ = ExaminedScene(facts, seen, self.asker).failing(family)
        return Probed(number, way, known, bool(failed))

    def _changed(self, rng: np.random.Generator, start: Scene, way: str) -> Iterator[Scene]:
        """Valid changed scenes, of TRIES that are made."""
        for _ in range(TRIES):
            scene = CHANGES[way](self.asker.vocabulary)(rng, start)
            if scene != start and is_valid(scene, self.asker.vocabulary):
                yield scene


def probe_shares(rows: Sequence[Probed]) -> dict[str, Proportion]:
    """For each way, the share of a family's probes that fail; the probes of one known failure are a cluster."""
    found = {}
    for way in CHANGES:
        mine = [row for row in rows if row.way == way and row.fails is not None]
        if mine:
            starts = sorted({row.scene for row in mine})
            hits = [sum(bool(row.fails) for row in mine if row.scene == start) for start in starts]
            sizes = [sum(row.scene == start for row in mine) for start in starts]
            found[way] = clustered_share(hits, sizes)
    return found


def _objects(vocabulary: Vocabulary) -> Change:
    moves = (JitterObject(), RedrawObjects(vocabulary, (1,)), SwapObjects())
    mixture = Mixture(moves, (0.4, 0.4, 0.2))

    def change(rng: np.random.Generator, scene: Scene) -> Scene:
        for _ in range(STEPS):
            scene = mixture.propose(rng, scene)
        return scene

    return change


def _noise(rng: np.random.Generator, scene: Scene) -> Scene:
    return replace(scene, noise=draw_noise(rng))


def _redrawn(group: str) -> Callable[[Vocabulary], Change]:
    """Other values of one group of nuisances: another camera, other lights."""

    def change(rng: np.random.Generator, scene: Scene) -> Scene:
        return replace(scene, nuisances=scene.nuisances.redrawn(draw_nuisances(rng), group))

    return lambda vocabulary: change


CHANGES: Mapping[str, Callable[[Vocabulary], Change]] = {
    OBJECTS: _objects,
    "noise": lambda vocabulary: _noise,
    **{part.group: _redrawn(part.group) for part in NUISANCES},
}
