"""What a worker answers, and who it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trex.blender_assets.load import MANIFEST, sha256
from trex.runs.manifest import versions

# refused: this worker has another version; asked: the query itself is wrong; failed: may go well another time.
Kind = Literal["refused", "asked", "failed", "stopped"]


@dataclass(frozen=True)
class TaskResult:
    """A piece of work that is done: its lines, what it cost, and the worker's memory in MiB."""

    lines: tuple[str, ...]
    renders: int
    seconds: float
    memory_mib: float = 0.0


@dataclass(frozen=True)
class TaskFailure:
    """A piece of work that was not done, and why."""

    kind: Kind
    why: str


Answer = TaskResult | TaskFailure
Identity = dict[str, str]  # what must be the same everywhere, by name


def identity() -> Identity:
    """Versions of everything that decides pixels and scores, and the hash of the assets' manifest."""
    return {**versions(), "assets": sha256(MANIFEST)[:16] if MANIFEST.is_file() else "missing"}


def differences(here: Identity, there: Identity) -> str:
    """In words, in what a worker differs; "" where in nothing."""
    names = sorted(here.keys() | there.keys())
    differ = [name for name in names if here.get(name) != there.get(name)]
    return ", ".join(f"{name} is {there.get(name)}, here it is {here.get(name)}" for name in differ)
