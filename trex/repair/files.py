"""The files of a repair folder: records as JSON, arrays as safetensors; the same bytes for the same content.

All are written atomically, and read without running code and without following links.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load, save

from trex.foundation.errors import RunError
from trex.foundation.fields import first_problem
from trex.foundation.files import read_bytes, write_atomic
from trex.foundation.parse import parse_json

M = TypeVar("M", bound=BaseModel)
Fields = Mapping[str, JsonValue]
Array = NDArray[np.generic]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Pictures = NDArray[np.float32]


class Record(BaseModel):
    """A record in a JSON file; rejects unknown keys and is immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Found(Record):
    """What a finished step found; a subclass says it in words."""

    @property
    def lines(self) -> list[str]:
        return []

    @property
    def sentences(self) -> list[str]:
        """What was found, for the terminal and the page."""
        return []

    def __str__(self) -> str:
        return "\n".join([*self.lines, *self.sentences])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {' '.join(self.sentences)} Print it for all>"


class Sources(Record):
    """What a repair works on: names of models and data set, and the sha256 of their content."""

    generator: str
    model: str
    dataset: str
    train: str
    test: str


class Done(Record):
    """A finished step: its key, and the sha256 of each of its files."""

    key: dict[str, JsonValue]
    files: dict[str, str]


def read_record(model: type[M], path: Path, remedy: str = "") -> M:
    """The record in a file; RunError with the remedy if it is damaged, by default that of a step's file."""
    value = _read(path, remedy)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        key, message = first_problem(error)
        raise RunError(f"{path} is damaged: {key}: {message}; {remedy or _again(path)}") from error


def write_record(path: Path, record: BaseModel) -> None:
    """Write a record atomically, without fields that were left at their defaults."""
    write_atomic(path, record_bytes(record))


def record_bytes(record: BaseModel) -> bytes:
    return _json_bytes(record.model_dump(mode="json", exclude_unset=True))


def read_fields(path: Path, remedy: str = "") -> Fields | None:
    """The JSON object in a file, None if there is no such file; RunError as of `read_record`."""
    if not path.is_file():
        return None
    found = _read(path, remedy)
    return found if isinstance(found, dict) else None


def _read(path: Path, remedy: str) -> object:
    data = read_bytes(path, error=RunError, follow_links=False)
    try:
        return parse_json(data, str(path), error=RunError)
    except RunError as error:
        raise RunError(f"{error}; {remedy or _again(path)}") from error


def _again(path: Path) -> str:
    return f"delete the folder {path.parent} and repeat its step"


def write_json(path: Path, value: Mapping[str, object]) -> None:
    """Write a JSON object atomically, the same bytes for the same value."""
    write_atomic(path, _json_bytes(value))


def _json_bytes(value: Mapping[str, object]) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def file_sha256(path: Path) -> str:
    return sha256(read_bytes(path, error=RunError, follow_links=False)).hexdigest()


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    write_atomic(path, save({name: np.asarray(array, order="C") for name, array in arrays.items()}))


def read_arrays(path: Path) -> dict[str, Array]:
    """The arrays in a file; RunError if it is damaged or a link."""
    data = read_bytes(path, error=RunError, follow_links=False)
    try:
        found: dict[str, Array] = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path} is damaged ({error}); {_again(path)}") from error
    return found


def floats(array: Array) -> Floats:
    return array.astype(np.float64)


def ints(array: Array) -> Ints:
    return array.astype(np.int64)


def flags(array: Array) -> Flags:
    return array.astype(np.bool_)


def pixels(array: Array) -> Pictures:
    return array.astype(np.float32)
