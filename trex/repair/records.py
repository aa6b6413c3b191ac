"""The small JSON files of a repair folder: what it works on, and what each finished step holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from trex.foundation.errors import RunError
from trex.foundation.fields import first_problem
from trex.foundation.files import read_bytes, write_atomic
from trex.foundation.parse import parse_json

M = TypeVar("M", bound=BaseModel)
Fields = Mapping[str, JsonValue]


class Record(BaseModel):
    """A record in a JSON file; rejects unknown keys and is immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


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


def read_record(model: type[M], path: Path) -> M:
    """The record in a file; RunError if it is damaged."""
    data = read_bytes(path, error=RunError, follow_links=False)
    try:
        return model.model_validate(parse_json(data, str(path), error=RunError))
    except ValidationError as error:
        key, message = first_problem(error)
        raise RunError(f"{path} is damaged: {key}: {message}; begin the repair anew") from error


def write_record(path: Path, record: BaseModel) -> None:
    """Write a record atomically."""
    write_json(path, record.model_dump(mode="json"))


def read_fields(path: Path) -> Fields | None:
    """The JSON object in a file; None if there is no such file."""
    if not path.is_file():
        return None
    found = parse_json(read_bytes(path, error=RunError, follow_links=False), str(path), error=RunError)
    return found if isinstance(found, dict) else None


def write_json(path: Path, value: Mapping[str, object]) -> None:
    """Write a JSON object atomically, the same bytes for the same value."""
    write_atomic(path, (json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n").encode())


def file_sha256(path: Path) -> str:
    """sha256 of a file as 64 hex digits."""
    return sha256(read_bytes(path, error=RunError, follow_links=False)).hexdigest()
