"""Arrays on disk: safetensors, the same bytes for the same arrays, written atomically and read without running code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from trex.foundation.errors import RunError
from trex.foundation.files import read_bytes, write_atomic

Array = NDArray[np.generic]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Pictures = NDArray[np.float32]


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays under their names."""
    write_atomic(path, save({name: np.asarray(array, order="C") for name, array in arrays.items()}))


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays in a file; RunError if it is damaged or a link."""
    data = read_bytes(path, error=RunError, follow_links=False)
    try:
        found: dict[str, Array] = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"{path} is damaged ({error}); delete the folder {path.parent} and repeat its step"
        ) from error
    return found


def floats(array: Array) -> Floats:
    """The array as float64."""
    return array.astype(np.float64)


def ints(array: Array) -> Ints:
    """The array as int64."""
    return array.astype(np.int64)


def flags(array: Array) -> Flags:
    """The array as booleans."""
    return array.astype(np.bool_)


def pixels(array: Array) -> Pictures:
    """The array as float32."""
    return array.astype(np.float32)
