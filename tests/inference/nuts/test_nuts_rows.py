"""Every row of a batch of densities is the density at its own point, whatever chain it belongs to."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest

from tests.worlds.nuts_worlds import LinearWorld
from trex.inference.nuts.density import Density, Evaluated, Point
from trex.inference.targets import high_confidence
from trex.inference.types import Floats

WORLD = LinearWorld(slope=2.0, edge=0.5)
TARGET = high_confidence(WORLD.labels, "x", width=0.2)
CHAINS, STEP = 6, 1e-5


def by_hand(z: Floats) -> float:
    """log prior + log weight in numpy, by their formulas."""
    logits = np.array([*(WORLD.slope * (z[:2] - WORLD.edge)), 0.0])
    log_probs = logits - math.log(np.exp(logits).sum())
    return float(-0.5 * (z @ z) - 0.5 * z.size * math.log(2 * math.pi)) + TARGET.log_weight(log_probs)


def slope_by_hand(z: Floats) -> Floats:
    steps = STEP * np.eye(z.size)
    return np.array([(by_hand(z + step) - by_hand(z - step)) / (2 * STEP) for step in steps])


def worst(density: Density) -> float:
    """The largest error of a value or a gradient, of all rows."""
    rng = np.random.default_rng(20_265)
    zs = {chain: rng.standard_normal(2) for chain in range(CHAINS)}
    found = density.evaluate({chain: Point(z) for chain, z in zs.items()})
    values = [abs(found[c].log_density - by_hand(z)) for c, z in zs.items()]
    slopes = [float(np.abs(found[c].gradient - slope_by_hand(z)).max()) for c, z in zs.items()]
    return max(values + slopes)


@pytest.mark.parametrize("lane", [1, 3, 4, 8])
def test_each_row_is_the_density_at_its_point(lane: int) -> None:
    assert worst(WORLD.density(TARGET, lane)) < 1e-6


class OneRowScaled(Density):
    """Planted: one row of a lane is nine tenths of itself."""

    def _evaluate_lane(self, rows: Mapping[int, Point]) -> dict[int, Evaluated]:
        found = super()._evaluate_lane(rows)
        return {
            row: one._replace(log_density=0.9 * one.log_density, gradient=0.9 * one.gradient)
            if row == 2
            else one
            for row, one in found.items()
        }


def test_a_row_that_is_scaled_is_noticed() -> None:
    assert worst(OneRowScaled(WORLD.log_probs, TARGET)) > 0.01
