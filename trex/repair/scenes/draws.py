"""Fresh scenes of a component: small changes of its members that stay inside its ellipsoid, whatever the model sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trex.inference.rng import stream
from trex.repair.arrays import Ints
from trex.repair.scenes.distill import Situations
from trex.repair.scenes.mistakes import Misread
from trex.scenes.moves.small_changes import SmallChange
from trex.scenes.scene import Scene

MAX_TRIES = 100


@dataclass(frozen=True)
class Fresh:
    """A scene, the object in question, and the number of the prior scene from which all of it comes."""

    scene: Scene
    index: int
    member: int


@dataclass(frozen=True, eq=False)
class Generator:
    """Draws scenes of components; `assigned` (n,) is the component of each misread object."""

    rows: Sequence[Misread]
    assigned: Ints
    situations: Situations
    change: SmallChange
    seed: int

    def draw(self, component: int, n: int, *key: int) -> tuple[list[Fresh], float]:
        """n scenes and the share of small changes that stayed inside; fewer scenes if MAX_TRIES a scene do not do.

        Each starts from a member drawn with equal chances. A function of the seed, the component and the key alone.
        """
        members = np.flatnonzero(self.assigned == component)
        found: list[Fresh] = []
        tried = 0
        for number in range(n):
            rng = stream(self.seed, *key, component, number)
            for _ in range(MAX_TRIES):
                tried += 1
                row = self.rows[int(members[int(rng.integers(len(members)))])]
                scene, _ = self.change.draw(rng, row.value)
                if scene is not None and self.situations.inside(scene, row.index) == component:
                    found.append(Fresh(scene, row.index, row.member))
                    break
        return found, len(found) / tried if tried else 0.0
