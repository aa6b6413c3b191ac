"""Draws made by hand: what a test says of them is their probabilities alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trex.inference.types import Floats, State, Target


def scored(target: Target, probs: Sequence[float] | Floats, z: Any = 0.0) -> State[Any]:
    """A latent whose picture got these probabilities, weighed by the target."""
    log_probs = np.log(np.asarray(probs, float))
    return State(z, 0.0, target.log_weight(log_probs), log_probs)
