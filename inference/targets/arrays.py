"""The few operations that statistics need, for numpy arrays and torch tensors alike: each formula exists once.

A sampler with gradients applies the same statistic to tensors that all other code applies to arrays. At a tied
maximum the gradient is shared among the tied values; at a cap it is that of the inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Array = TypeVar("Array", NDArray[np.float64], "Tensor")


def exp(x: Array) -> Array:
    """e^x, element by element."""
    return np.exp(x) if isinstance(x, np.ndarray) else x.exp()


def largest(x: Array) -> Array:
    """The maximum over the last axis, (..., K) -> (...)."""
    return np.asarray(x.max(axis=-1)) if isinstance(x, np.ndarray) else x.amax(dim=-1)


def smallest(x: Array) -> Array:
    """The minimum over the last axis, (..., K) -> (...)."""
    return np.asarray(x.min(axis=-1)) if isinstance(x, np.ndarray) else x.amin(dim=-1)


def at_most(x: Array, cap: float) -> Array:
    """The smaller of each value and the cap."""
    return np.minimum(x, cap) if isinstance(x, np.ndarray) else x.clamp(max=cap)


def at_least(x: Array, floor: float) -> Array:
    """The larger of each value and the floor."""
    return np.maximum(x, floor) if isinstance(x, np.ndarray) else x.clamp(min=floor)


def stack(parts: Sequence[Array]) -> Array:
    """m arrays (...) -> (..., m)."""
    if isinstance(parts[0], np.ndarray | np.generic):  # numpy makes scalars of sums of (0-dimensional) arrays
        return np.stack(parts, axis=-1)
    import torch  # already imported: the parts are tensors

    return torch.stack(list(parts), dim=-1)


def numbers(values: Sequence[float], like: Array) -> Array:
    """The numbers as an array (m,) of the kind and type of `like`."""
    return np.array(values, np.float64) if isinstance(like, np.ndarray) else like.new_tensor(values)
