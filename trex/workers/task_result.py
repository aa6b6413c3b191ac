"""A worker's answer to a task, and the worker's identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trex.blender_assets.load import MANIFEST, sha256
from trex.runs.manifest import versions

# refused: the worker has another version; asked: the query is invalid; failed: a retry may succeed.
Kind = Literal["refused", "asked", "failed", "stopped"]


@dataclass(frozen=True)
class TaskResult:
    """A finished task: its lines, its cost, and the worker's memory in MiB."""

    lines: tuple[str, ...]
    renders: int
    seconds: float
    memory_mib: float = 0.0


@dataclass(frozen=True)
class TaskFailure:
    """A task that was not done, and the reason."""

    kind: Kind
    why: str


Answer = TaskResult | TaskFailure
Identity = dict[str, str]  # what must be equal on all machines, by name


def identity() -> Identity:
    """Versions of everything that decides pixels and scores, and the hash of the assets' manifest."""
    return {**versions(), "assets": sha256(MANIFEST)[:16] if MANIFEST.is_file() else "missing"}


def differences(here: Identity, there: Identity) -> str:
    """The differences between a worker and this process, in words; "" if there are none."""
    names = sorted(here.keys() | there.keys())
    differ = [name for name in names if here.get(name) != there.get(name)]
    return ", ".join(f"{name} is {there.get(name)}, here it is {here.get(name)}" for name in differ)
