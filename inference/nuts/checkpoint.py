"""The random state of a chain of NUTS in a checkpoint: z, random numbers and, after warmup, step size and mass matrix.

During warmup it holds the start, not the adaptation's inner state: resuming repeats the warmup, to the same draws bit
for bit, and continues. After warmup nothing is repeated.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from trex.foundation.errors import InputError, RunError
from trex.foundation.json_fields import finite, listed, mapping
from trex.inference.chains import Checkpoint
from trex.inference.rng import RngState, load_rng, save_rng
from trex.inference.types import Floats


class NutsTuning(NamedTuple):
    """The results of warmup: the leapfrog step size, and the diagonal of the inverse mass matrix."""

    step_size: float
    inverse_mass: tuple[float, ...]


class ChainPoint(NamedTuple):
    """Everything that a chain continues from; without `tuning`, z and rng are those of its start."""

    z: Floats
    rng: RngState
    tuning: NutsTuning | None = None


def plain_point(point: ChainPoint) -> RngState:
    """The point as numbers, strings, lists and dicts, which JSON restores exactly."""
    tuning = None if point.tuning is None else [point.tuning.step_size, *point.tuning.inverse_mass]
    return {"z": point.z.tolist(), "rng": dict(point.rng), "tuning": tuning}


def chain_points(checkpoint: Checkpoint[Floats]) -> list[ChainPoint]:
    """Where each chain continues; RunError if that is damaged, or if latents differ in shape.

    A chain that has not moved yet has only a state and random numbers.
    """
    points = [
        _read_point(rng if "rng" in rng else {"z": np.asarray(state.z).tolist(), "rng": rng, "tuning": None})
        for state, rng in zip(checkpoint.states, checkpoint.rng_states, strict=True)
    ]
    if len({point.z.shape for point in points}) != 1:
        raise RunError(
            f"{[point.z.shape for point in points]} cannot start chains; all must have one shape (d,)"
        )
    return points


def _read_point(plain: RngState) -> ChainPoint:
    try:
        return _parsed(plain)
    except (InputError, TypeError, KeyError, ValueError, AttributeError) as error:
        raise RunError(
            f"not a checkpoint of NUTS ({error!r}): {str(plain)[:200]}; start a new run"
        ) from error


def _parsed(plain: RngState) -> ChainPoint:
    z = np.array(plain["z"], np.float64)
    rng = save_rng(load_rng(mapping(plain["rng"], "rng")))
    if z.ndim != 1 or not np.isfinite(z).all():
        raise ValueError(f"z is {plain['z']}")
    if plain["tuning"] is None:
        return ChainPoint(z, rng)
    step_size, *inverse_mass = (finite(value, "tuning") for value in listed(plain["tuning"], "tuning"))
    if len(inverse_mass) != z.size or not all(
        v > 0.0 and math.isfinite(v) for v in (step_size, *inverse_mass)
    ):
        raise ValueError(f"tuning is {plain['tuning']}")
    return ChainPoint(z, rng, NutsTuning(step_size, tuple(inverse_mass)))
