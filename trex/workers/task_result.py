"""A worker's answer to a task, and the worker's identity."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from trex.blender_assets.load import MANIFEST, sha256
from trex.runs.manifest import versions
from trex.workers.sources import sources_hash


class FailureKind(Enum):
    """Why a task was not done, and so what happens to it; the values are those of the workers' logs."""

    INCOMPATIBLE = "incompatible"  # the worker has another version: another worker may do the task
    INVALID_QUERY = "invalid query"  # ends the search
    ERROR = "error"  # a retry may succeed
    STOPPED = "stopped"  # the farm stops


@dataclass(frozen=True)
class TaskResult:
    """A finished task: its lines, its cost, and the worker's memory in MiB."""

    lines: tuple[str, ...]
    renders: int
    seconds: float
    memory_mib: float = 0.0


@dataclass(frozen=True)
class TaskFailure:
    """A task that was not done, with the kind of failure and the reason."""

    kind: FailureKind
    why: str


Answer = TaskResult | TaskFailure
Identity = dict[str, str]  # what must be equal on all machines, by name


def identity() -> Identity:
    """Versions of everything that decides pixels and scores, and hashes of the assets' manifest and of trex's code."""
    assets = sha256(MANIFEST)[:16] if MANIFEST.is_file() else "missing"
    return {**versions(), "assets": assets, "code of trex": sources_hash()}


def differences(here: Identity, there: Identity) -> str:
    """The differences between a worker and this process as text; "" if there are none."""
    names = sorted(here.keys() | there.keys())
    differ = [name for name in names if here.get(name) != there.get(name)]
    return ", ".join(f"{name} is {there.get(name)}, here it is {here.get(name)}" for name in differ)
