"""Reassembles a search from its tasks: every record once, in order, whole rounds and batches only.

Results may arrive late, twice or in any order. A chain's next segment starts where its last one ended, so at most one
segment of a chain is assigned at a time; a result that has already arrived is ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trex.farm.workers.tasks import ChainSegment, DrawSegment, Segment
from trex.foundation.errors import RunError
from trex.inference.chains import Checkpoint
from trex.inference.rng import RngState
from trex.inference.targets import GaussianTarget
from trex.inference.types import State
from trex.runs.record import Record
from trex.runs.replay import states
from trex.search.engine import Independent
from trex.worlds.latents import Latent
from trex.worlds.looks import DECIDING

AHEAD = 2  # segments that a chain may be ahead of the slowest; all are wasted if the search stops


@dataclass
class Group:
    """Chains that are stepped in one task: their position, and the records that are in no finished round yet."""

    chains: tuple[int, ...]
    states: tuple[State[Latent], ...]
    rngs: tuple[RngState, ...]
    at: int  # index of the next step
    is_assigned: bool = False
    results: list[list[Record]] = field(default_factory=list)  # one list of records per step


class ChainReassembly:
    """The rounds of one phase from a checkpoint on, in segments of `steps` steps of `chains_per_task` chains each.

    The first `undivided_steps` steps form one segment.
    """

    def __init__(
        self,
        run: Path,
        phase: str,
        target: GaussianTarget,
        begin: Checkpoint[Latent],
        end: int,
        *,
        steps: int,
        chains_per_task: int,
        undivided_steps: int = 0,
        lead: str = DECIDING,
    ) -> None:
        self._run, self._phase, self._target, self._lead = run, phase, target, lead
        self._done, self._end, self._steps, self._undivided_steps = (
            begin.next_index,
            end,
            steps,
            undivided_steps,
        )
        chains = range(len(begin.states))
        self._groups = [
            Group(
                tuple(chains[at : at + chains_per_task]),
                begin.states[at : at + chains_per_task],
                begin.rng_states[at : at + chains_per_task],
                begin.next_index,
            )
            for at in range(0, len(chains), chains_per_task)
        ]

    def owns(self, segment: Segment) -> bool:
        """Whether the segment is one of these."""
        return isinstance(segment, ChainSegment) and segment.phase == self._phase

    @property
    def is_complete(self) -> bool:
        """Whether every round has been returned."""
        return self._done >= self._end

    def due(self) -> list[ChainSegment]:
        """Segments that can start now; each is returned once."""
        ready = [group for group in self._groups if self._is_due(group)]
        for group in ready:
            group.is_assigned = True
        return [self._segment(group) for group in ready]

    def accept(self, segment: Segment, records: Sequence[Record]) -> None:
        """Add a segment's records unless they are known; RunError if they are not the requested ones."""
        assert isinstance(segment, ChainSegment)
        check_keys(segment, records)
        group = next(group for group in self._groups if group.chains == segment.chains)
        if segment.begin.next_index != group.at:
            return  # a late answer from a worker that was declared lost
        width = len(group.chains)
        rounds = [list(records[at : at + width]) for at in range(0, len(records), width)]
        group.results += rounds
        group.states = tuple(
            list(states([row[place] for row in rounds], first))[-1]
            for place, first in enumerate(group.states)
        )
        group.rngs = tuple(record.rng for record in rounds[-1])
        group.at, group.is_assigned = segment.end, False

    def whole(self) -> Iterator[list[Record]]:
        """The rounds that every chain has completed and that were not returned yet, in order."""
        while all(group.results for group in self._groups):
            self._done += 1
            yield [record for group in self._groups for record in group.results.pop(0)]

    def _is_due(self, group: Group) -> bool:
        return not group.is_assigned and group.at < min(self._end, self._done + AHEAD * self._steps)

    def _segment(self, group: Group) -> ChainSegment:
        begin = Checkpoint(group.states, group.rngs, group.at)
        end = min(self._end, max(group.at + self._steps, self._undivided_steps))
        return ChainSegment(self._run, self._phase, self._target, group.chains, begin, end, self._lead)


class DrawReassembly:
    """Independent draws from an index on, in segments of `scenes` draws; segments may run ahead of the request."""

    def __init__(self, run: Path, what: Independent, begin: int, scenes: int) -> None:
        self._run, self._what, self._scenes = run, what, scenes
        self._next_assigned = self._next = begin
        self._waiting: dict[int, Record] = {}

    def owns(self, segment: Segment) -> bool:
        """Whether the segment is one of these."""
        return isinstance(segment, DrawSegment) and self.is_of(segment.what)

    def is_of(self, what: Independent) -> bool:
        """Whether `what` describes these draws."""
        return (what.phase, what.rank) == (self._what.phase, self._what.rank)

    def due(self, stop: int) -> list[DrawSegment]:
        """Segments of the indices below `stop`; each is returned once."""
        segments = []
        while self._next_assigned < stop:
            end = min(self._next_assigned + self._scenes, stop)
            indices = range(self._next_assigned, end)
            segments.append(DrawSegment(self._run, self._what.of(indices), indices))
            self._next_assigned = end
        return segments

    def accept(self, segment: Segment, records: Sequence[Record]) -> None:
        """Add a segment's records unless they are known."""
        check_keys(segment, records)
        self._waiting |= {record.index: record for record in records if record.index >= self._next}

    def whole(self, stop: int) -> list[Record]:
        """The records below `stop` that have arrived without a gap, in order; each is returned once."""
        found = []
        while self._next < stop and self._next in self._waiting:
            found.append(self._waiting.pop(self._next))
            self._next += 1
        return found

    def is_complete(self, stop: int) -> bool:
        """Whether all records below `stop` have been returned."""
        return self._next >= stop


def check_keys(segment: Segment, records: Sequence[Record]) -> None:
    """Raise RunError if the records are not those of the segment."""
    if [record.key for record in records] != segment.keys:
        returned = f"{records[0].key} to {records[-1].key}" if records else "nothing"
        raise RunError(
            f"a worker returned {returned} instead of {segment.keys[0]} to {segment.keys[-1]}; "
            "it runs another version: install the same version on all machines"
        )
