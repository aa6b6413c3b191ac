"""How a batch gets its name and its hashes, and which scenes a suite has already."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from trex.foundation.files import write_atomic
from trex.scenes.questions.programs import Program
from trex.suite.batch import BATCH, CODEC, BatchFile, batch_name, read_batches

NEW = "batch"  # the place beside which a batch is filled, before its content names it


@dataclass(frozen=True)
class Added:
    """What a run or an audit gave: scenes that are new, and known to the suite.

    `unconfirmed` were left out since a confirmation is right or missing. `batch` is the new folder, None if nothing was
    new.
    """

    run: Path
    new: int
    known: int
    unconfirmed: int
    batch: Path | None


def known_scenes(suite: Path) -> set[tuple[str, Program]]:
    """The identities of all scenes of a suite, none if it is new."""
    batches = read_batches(suite) if suite.exists() else ()
    return {batch.identity(scene) for batch in batches for scene in batch.content.scenes}


def file_hashes(scratch: Path) -> dict[str, str]:
    """The sha256 of every file of a batch, by its path."""
    files = sorted(path for path in scratch.rglob("*") if path.is_file())
    return {path.relative_to(scratch).as_posix(): sha256(path.read_bytes()) for path in files}


def seal(scratch: Path, content: BatchFile) -> str:
    """Write `batch.json`; the name that the batch gets by it."""
    data = CODEC.text(content).encode()
    write_atomic(scratch / BATCH, data)
    return batch_name(data)


def sha256(data: bytes) -> str:
    """64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
