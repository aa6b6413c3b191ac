"""Files in the idx format of the MNIST data (http://yann.lecun.com/exdb/mnist), compressed by gzip or not."""

from __future__ import annotations

import gzip
import io
import math
import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.foundation.files import read_bytes

GZIP = b"\x1f\x8b"
UNSIGNED_BYTES = 0x08  # the format's code of its element type
LARGEST_BYTES = 1 << 28  # the largest file of the two data sets unpacks to 47 MB
FIX = "get the file again"
Bytes = NDArray[np.uint8]


def read_idx(path: Path, dimensions: int) -> Bytes:
    """The array of an idx file of unsigned bytes; InputError if it is missing, cut, too long or another format."""
    data = unpacked(path)
    if len(data) < 4 or data[:2] != b"\0\0" or data[3] == 0:
        raise InputError(f"{path} is not an idx file (it begins with {data[:4].hex() or 'nothing'}); {FIX}")
    if data[2] != UNSIGNED_BYTES:
        raise InputError(
            f"{path} has elements of type {data[2]:#04x}; only unsigned bytes (0x08) are supported"
        )
    if data[3] != dimensions:
        raise InputError(
            f"{path} has {data[3]} dimensions instead of {dimensions}; images (3) and labels (1) may be swapped"
        )
    start = 4 + 4 * dimensions
    if len(data) < start:
        raise InputError(f"{path} is truncated: it ends within its header; {FIX}")
    sizes = struct.unpack(f">{dimensions}I", data[4:start])
    expected, found = math.prod(sizes), len(data) - start
    if found != expected:
        what = "truncated" if found < expected else "too long"
        raise InputError(f"{path} is {what}: its header announces {expected} bytes, {found} follow; {FIX}")
    return np.frombuffer(data, np.uint8, offset=start).reshape(sizes)


def idx_bytes(array: Bytes) -> bytes:
    """An array of unsigned bytes as an idx file, not compressed."""
    header = bytes((0, 0, UNSIGNED_BYTES, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.tobytes()


def unpacked(path: Path) -> bytes:
    """The bytes of a file, unpacked if gzip packed them; InputError for a damaged one and beyond 256 MiB."""
    packed = read_bytes(path, limit=LARGEST_BYTES)
    if packed[:2] != GZIP:
        return packed
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
            data = stream.read(LARGEST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} is truncated or damaged ({error}); {FIX}") from error
    if len(data) > LARGEST_BYTES:
        raise InputError(
            f"{path} unpacks to more than {LARGEST_BYTES >> 20} MiB, too many for this data set; {FIX}"
        )
    return data
