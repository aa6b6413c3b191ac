"""Random streams identified by numbers, and their state as JSON."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import numpy as np

from trex.foundation.errors import RunError

RngState = Mapping[str, object]
PRIOR_STREAM, CHAIN_STREAM, START_STREAM, PARTICLE_STREAM, SECOND_PHASE_STREAM, CALIBRATION_STREAM = range(6)
# Far from those of a search, of which there may be more.
BANK_STREAM, AUDIT_STREAM, SPREAD_STREAM, TRACE_STREAM = range(1001, 1005)


def stream(seed: int, *key: int) -> np.random.Generator:
    """The generator (PCG64) of this seed and key; streams of different keys are independent."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def save_rng(rng: np.random.Generator) -> RngState:
    """The state of a PCG64 generator: words and integers only, so that JSON keeps it exactly."""
    return copy.deepcopy(dict(rng.bit_generator.state))


def load_rng(state: RngState) -> np.random.Generator:
    """A generator that continues exactly where `save_rng` was called; RunError for any other state."""
    rng = np.random.Generator(np.random.PCG64(0))
    try:
        _check(state)
        rng.bit_generator.state = copy.deepcopy(dict(state))
    except (TypeError, KeyError, ValueError, OverflowError) as error:
        raise RunError(f"not the state of a PCG64 generator: {state!r}; start a new run") from error
    return rng


def _check(state: RngState) -> None:
    """ValueError for numbers that PCG64 would take and change: its state has 128 bits."""
    inner = state["state"]
    if not isinstance(inner, Mapping):
        raise ValueError("no state")
    if any(type(inner[name]) is not int or not 0 <= inner[name] < 1 << 128 for name in ("state", "inc")):
        raise ValueError("not 128 bits")
