"""Numeric arrays of MATLAB files, format 5, that may come from anywhere: read by scipy after bounded checks.

scipy runs nothing in such a file, but unpacks whatever it announces; so every element is first unpacked here up to a
limit, and only named variables of a numeric class are read. (The format: MathWorks, "MAT-File Format", 1-5 to 1-9.)
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trex.foundation.errors import InputError
from trex.foundation.files import MIB, read_bytes

HEADER_BYTES = 128
VERSION_AT, ORDER_AT = 124, 126
ORDERS = {b"IM": "<", b"MI": ">"}
COMPRESSED, MATRIX = 15, 14  # data types of the elements at the top
NUMERIC = {"double", "single", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}
SLACK_BYTES = 1 << 16  # headers and small variables beside the arrays
FIX = "get the file again"


def read_mat(path: Path, names: Sequence[str], limit: int) -> dict[str, NDArray[np.generic]]:
    """The named arrays; InputError if one is missing or not numeric, or if the file is damaged or another format.

    `limit`: bytes to which all elements together may unpack.
    """
    from scipy.io import loadmat, whosmat

    data = read_bytes(path, limit=limit + SLACK_BYTES)
    _check_header(path, data)
    _check_size(path, data, limit + SLACK_BYTES)
    try:
        kinds = {name: kind for name, _, kind in whosmat(io.BytesIO(data))}
        for name in names:
            _check_kind(path, name, kinds)
        found = loadmat(io.BytesIO(data), variable_names=list(names))
        return {name: np.asarray(found[name]) for name in names}
    except InputError:
        raise
    except Exception as error:  # scipy raises many kinds for damaged files, from its compiled reader too
        raise InputError(f"{path} is damaged ({type(error).__name__}: {error}); {FIX}") from error


def _check_header(path: Path, data: bytes) -> None:
    if data[:8] == b"\x89HDF\r\n\x1a\n" or data[:10] == b"MATLAB 7.3":
        raise InputError(f"{path} is of MATLAB's format 7.3; save it with -v7")
    order = ORDERS.get(data[ORDER_AT:HEADER_BYTES])
    if len(data) < HEADER_BYTES or order is None or data[VERSION_AT:ORDER_AT] not in (b"\0\1", b"\1\0"):
        raise InputError(f"{path} is no MATLAB file of format 5; {FIX}")


def _check_size(path: Path, data: bytes, limit: int) -> None:
    """Raise InputError if the elements are cut or unpack to more than `limit` bytes."""
    left = limit
    for kind, element in _elements(path, data):
        if kind == COMPRESSED:
            left -= _unpacked_size(path, element, left)
        elif kind == MATRIX:
            left -= len(element)
        else:
            raise InputError(f"{path} is damaged: an element of type {kind} at its top; {FIX}")
        if left < 0:
            raise InputError(f"{path} unpacks to more than {limit // MIB:,} MiB; {FIX}")


def _elements(path: Path, data: bytes) -> Iterator[tuple[int, memoryview]]:
    """(type, content) of each element at the top."""
    order, place, view = ORDERS[data[ORDER_AT:HEADER_BYTES]], HEADER_BYTES, memoryview(data)
    while place < len(data):
        if place + 8 > len(data):
            raise InputError(f"{path} is cut within an element's head; {FIX}")
        kind, size = struct.unpack_from(f"{order}II", data, place)
        place += 8
        if size == 0 or place + size > len(data):
            raise InputError(
                f"{path} is cut: an element of {size:,} bytes, {len(data) - place:,} are left; {FIX}"
            )
        yield kind, view[place : place + size]
        place += size


def _unpacked_size(path: Path, element: memoryview, limit: int) -> int:
    """The bytes that it unpacks to, at most limit + 1 MiB."""
    unpacker, total, packed = zlib.decompressobj(), 0, bytes(element)
    try:
        while packed and not unpacker.eof and total <= limit:
            total += len(unpacker.decompress(packed, MIB))
            packed = unpacker.unconsumed_tail
        if total <= limit and not unpacker.eof:
            raise InputError(f"{path} is cut within a packed element; {FIX}")
    except zlib.error as error:
        raise InputError(f"{path} is damaged ({error}); {FIX}") from error
    return total


def _check_kind(path: Path, name: str, kinds: dict[str, str]) -> None:
    if name not in kinds:
        raise InputError(
            f"{path} has no variable {name} (it has {', '.join(sorted(kinds)) or 'none'}); {FIX}"
        )
    if kinds[name] not in NUMERIC:
        raise InputError(f"{path}: {name} is of class {kinds[name]}; only numbers are read")
