"""Checkpoints of NUTS as plain data: z, random state and, after warmup, step size and mass matrix.

During warmup a checkpoint holds the start, not the adaptation's inner state: resuming repeats the warmup, to the
same draws bit for bit, and continues. After warmup nothing is repeated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trex.foundation.errors import InputError, RunError
from trex.foundation.json_fields import finite, listed, mapping, whole
from trex.inference.rng import CHAIN_STREAM, RngState, load_rng, save_rng, stream
from trex.inference.types import Floats, State


class Tuning(NamedTuple):
    """The results of warmup: the leapfrog step size, and the diagonal of the inverse mass matrix."""

    step_size: float
    inverse_mass: tuple[float, ...]


class ChainPoint(NamedTuple):
    """Everything that a chain continues from; without `tuning`, z and rng are those of its start."""

    z: Floats
    rng: RngState
    tuning: Tuning | None = None


@dataclass(frozen=True)
class NutsCheckpoint:
    """Every chain's point, and the index of its next draw."""

    points: tuple[ChainPoint, ...]
    next_index: int = 0

    def __post_init__(self) -> None:
        if not self.points or len({point.z.shape for point in self.points}) != 1:
            raise RunError(
                f"{[point.z.shape for point in self.points]} cannot start chains; all must have one shape (d,)"
            )
        if self.next_index < 0:
            raise RunError(f"next index {self.next_index} is negative; start a new run")


def start_nuts(seed: int, states: Sequence[State[Floats]]) -> NutsCheckpoint:
    """Chains at these states; chain c draws from stream (seed, chain, c), so more chains leave the first unchanged."""
    return NutsCheckpoint(
        tuple(
            ChainPoint(np.array(state.z, np.float64), save_rng(stream(seed, CHAIN_STREAM, c)))
            for c, state in enumerate(states)
        )
    )


def plain_checkpoint(checkpoint: NutsCheckpoint) -> dict[str, object]:
    """The checkpoint as numbers, strings, lists and dicts, which JSON restores exactly."""
    return {"next_index": checkpoint.next_index, "chains": [_plain_point(p) for p in checkpoint.points]}


def read_checkpoint(plain: object) -> NutsCheckpoint:
    """The inverse of `plain_checkpoint`; RunError for anything else."""
    try:
        found = mapping(plain, "it")
        points = tuple(_read_point(mapping(point, "a chain")) for point in listed(found["chains"], "chains"))
        return NutsCheckpoint(points, whole(found["next_index"], "next_index"))
    except (InputError, TypeError, KeyError, ValueError, AttributeError) as error:
        raise RunError(
            f"not a checkpoint of NUTS ({error!r}): {str(plain)[:200]}; start a new run"
        ) from error


def _plain_point(point: ChainPoint) -> dict[str, object]:
    tuning = None if point.tuning is None else [point.tuning.step_size, *point.tuning.inverse_mass]
    return {"z": point.z.tolist(), "rng": dict(point.rng), "tuning": tuning}


def _read_point(plain: Mapping[str, object]) -> ChainPoint:
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
    return ChainPoint(z, rng, Tuning(step_size, tuple(inverse_mass)))
