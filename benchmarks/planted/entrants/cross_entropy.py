"""The cross-entropy method (Rubinstein 1999) over one object's attributes and place, the camera and the lights.

Written anew after VerifAI's sampler: each factor has its own distribution over a few values; those of failing scenes
become likelier. Values that end up nearly certain are the claim.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.planted.claims import KEYED, Claim, claim_of
from benchmarks.planted.entrants.entry import Hint, Result
from benchmarks.planted.entrants.looking import look
from benchmarks.planted.referee import Referee
from trex.families.pattern import Pattern
from trex.scenes.scene import ATTRIBUTES, NUISANCES, Scene, with_attribute
from trex.scenes.validity import is_valid
from trex.scenes.vocabulary import CLEVR

ROUND = 50  # renders between two updates
SMOOTH = 0.6  # weight of the failing scenes in an update
LIFT = 0.75  # of the way from the prior's probability to 1, from which on a value is claimed
LEAST = 5  # failing scenes for an update
FACTORS: dict[str, tuple[str, ...]] = {
    **{name: CLEVR.available(name) for name in ATTRIBUTES},
    **{part.name: ("low", "", "high") for part in NUISANCES if part.n == 3},
}
PRIOR = {name: np.full(len(values), 1 / len(values)) for name, values in FACTORS.items()} | {
    part.name: np.array([0.25, 0.5, 0.25]) for part in NUISANCES if part.n == 3
}


def cross_entropy(referee: Referee, seed: int, hints: tuple[Hint, ...]) -> Result:
    """Rounds of ROUND renders; the distributions move towards the failing scenes of each."""
    rng = np.random.default_rng(seed)
    chances: dict[str, NDArray[np.float64]] = dict(PRIOR)
    total = 0
    while referee.left:
        failing = list[dict[str, int]]()
        for _ in range(min(ROUND, referee.left)):
            values, scene = _drawn(referee, rng, chances)
            if look(referee, referee.known(scene, int(rng.integers(1 << 31)))).failed:
                failing.append(values)
        total += len(failing)
        if len(failing) >= LEAST:
            for name, values_of in FACTORS.items():
                elite = np.bincount([each[name] for each in failing], minlength=len(values_of)) / len(failing)
                chances[name] = (1 - SMOOTH) * chances[name] + SMOOTH * (0.95 * elite + 0.05 * PRIOR[name])
    return Result(_claims(chances), total)


def _drawn(
    referee: Referee, rng: np.random.Generator, chances: dict[str, NDArray[np.float64]]
) -> tuple[dict[str, int], Scene]:
    """A valid scene with its first object and its heights by the distributions."""
    while True:
        (known,) = referee.draw(1)
        values = {
            name: int(rng.choice(len(chance), p=chance / chance.sum())) for name, chance in chances.items()
        }
        scene = known.scene
        item = scene.objects[0]
        for name in ATTRIBUTES:
            item = with_attribute(item, name, FACTORS[name][values[name]])
        heights = {
            part.name: (
                *getattr(scene.nuisances, part.name)[:2],
                _height(rng, values[part.name]) * part.reach,
            )
            for part in NUISANCES
            if part.n == 3
        }
        scene = replace(
            scene, objects=(item, *scene.objects[1:]), nuisances=replace(scene.nuisances, **heights)
        )
        if is_valid(scene, CLEVR):
            return values, scene


def _height(rng: np.random.Generator, level: int) -> float:
    low, high = ((-1.0, -0.5), (-0.5, 0.5), (0.5, 1.0))[level]
    return float(rng.uniform(low, high))


def _claims(chances: dict[str, NDArray[np.float64]]) -> tuple[Claim, ...]:
    keys = []
    for name, values in FACTORS.items():
        best = int(chances[name].argmax())
        start = float(PRIOR[name][best])
        if values[best] and chances[name][best] >= start + LIFT * (1 - start):
            keys.append(f"{name} {values[best]}")
    conditions = [KEYED.get(("object", key)) or KEYED[("scene", key)] for key in keys]
    return (claim_of(conditions, Pattern.of(conditions).words),) if conditions else ()
