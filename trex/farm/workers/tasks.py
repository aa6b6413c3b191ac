"""Tasks: parts of a search, audit or repair that any worker can do, or repeat with the same result; their answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

from trex.auditing.work import Unit
from trex.inference.chains import Checkpoint
from trex.inference.targets import GaussianTarget
from trex.inference.types import PRIOR_CHAIN
from trex.runs.record import Key, Record
from trex.scenes.scene import Scene
from trex.search.engine import Independent, InProcess
from trex.worlds.latents import Latent
from trex.worlds.looks import DECIDING

ALL = 1 << 20  # more chains than any query has
SCENES = 8  # in one task
STEPS = 16  # of each chain in one task: a few seconds at preset `fast`, the most that a lost worker costs


@dataclass(frozen=True)
class PrepareRun:
    """Determine the manifest of a queued run that has not begun."""

    run: Path


@dataclass(frozen=True)
class DrawSegment:
    """Make the independent draws of these indices."""

    run: Path
    what: Independent
    indices: range

    @property
    def keys(self) -> list[Key]:
        """The keys of its records, in order."""
        return [(self.what.phase, self.what.rank or PRIOR_CHAIN, index) for index in self.indices]


@dataclass(frozen=True)
class ChainSegment:
    """Step these chains from their present state up to index `end` - 1."""

    run: Path
    phase: str
    target: GaussianTarget
    chains: tuple[int, ...]
    begin: Checkpoint[Latent]
    end: int
    lead: str = DECIDING

    @property
    def keys(self) -> list[Key]:
        """The keys of its records, in order: one step of every chain, then the next step."""
        steps = range(self.begin.next_index, self.end)
        return [(self.phase, chain, index) for index in steps for chain in self.chains]


@dataclass(frozen=True)
class AuditUnit:
    """Do a unit of the audit in this folder, number `at` of a step; `known` are its rows that are there already."""

    run: Path
    at: int
    unit: Unit[Any]
    known: Sequence[Any]


@dataclass(frozen=True)
class RenderScenes:
    """Render these scenes for the repair in this folder, number `at` of a step, by a renderer of this key ("": any).

    The lines are the renderer's key, and each picture as base64.
    """

    run: Path
    at: int
    look: str
    key: str
    scenes: tuple[Scene, ...]


Segment = DrawSegment | ChainSegment
Work = PrepareRun | AuditUnit | RenderScenes | Segment


def run_task(engine: InProcess, segment: Segment) -> Iterator[Sequence[Record]]:
    """Yield the segment's records as they are made."""
    if isinstance(segment, DrawSegment):
        yield from engine.draws(segment.what, segment.indices, segment.indices.stop)
        return
    for records in engine.rounds(segment.phase, segment.target, segment.begin, segment.end, segment.lead):
        yield [replace(record, chain=chain) for record, chain in zip(records, segment.chains, strict=True)]


class FailureKind(Enum):
    """Why a task was not done, and so what happens to it; the values are those of the workers' logs."""

    INCOMPATIBLE = "incompatible"  # the worker has another version: another worker may do the task
    INVALID_QUERY = "invalid query"  # ends the search
    ERROR = "error"  # a retry may succeed
    DISK_FULL = "full disk"  # a retry may succeed; if not, the farm stops
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
