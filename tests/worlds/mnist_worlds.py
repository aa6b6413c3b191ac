"""Tiny idx files in the published layout: each class is a bright bar in a row of its own."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

N_TRAIN, N_TEST = 60, 30


def idx_bytes(array: NDArray[np.uint8]) -> bytes:
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def bars(n: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """n noisy pictures, the classes in turn."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(n) % 10).astype(np.uint8)
    images = rng.integers(0, 60, (n, 28, 28)).astype(np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[4 + 2 * label : 6 + 2 * label, 4:24] = 250
    return images, labels


def write_data(folder: Path, dataset: str = "MNIST", packed: bool = True) -> Path:
    """FOLDER/MNIST/raw as a download leaves it; gives FOLDER."""
    raw = folder / dataset / "raw"
    raw.mkdir(parents=True)
    for name, n, seed in (("train", N_TRAIN, 1), ("t10k", N_TEST, 2)):
        images, labels = bars(n, seed)
        for kind, array in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels)):
            data = idx_bytes(array)
            suffix = ".gz" if packed else ""
            (raw / f"{name}-{kind}{suffix}").write_bytes(gzip.compress(data, mtime=0) if packed else data)
    return folder
